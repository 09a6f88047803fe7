//! Whether a data file is as long as what it refers to. A file that was cut off, by a copy that did
//! not come to its end for instance, is mapped like any other, and a read behind its end would end
//! the process instead of failing.
//!
//! LMDB does not write free pages at the end of the file, so that the number of the last page alone
//! does not tell. Only where the file is shorter than that, its trees are walked: all pages that they
//! need must be there. What is on a page is not judged here; LMDB and the readers of rows do that.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Where things are in a page of LMDB's data format 1, on machines of 64 bits that are little-endian.
mod place {
    pub(super) const HEADER: usize = 16;
    pub(super) const FLAGS: usize = 10;
    pub(super) const LOWER: usize = 12;
    pub(super) const BRANCH: u16 = 0x01;
    pub(super) const LEAF: u16 = 0x02;
    /// Within a node: flags, length of the key, the key itself.
    pub(super) const NODE_FLAGS: usize = 4;
    pub(super) const KEY_LENGTH: usize = 6;
    pub(super) const KEY: usize = 8;
    /// The value is on pages of its own, or is a tree.
    pub(super) const APART: u16 = 0x01;
    pub(super) const TREE: u16 = 0x02;
    /// Within a tree's record: its root.
    pub(super) const ROOT: usize = 40;
    /// Within a meta page: the roots of the free pages and of the databases, and the transaction.
    pub(super) const ROOTS: [usize; 2] = [HEADER + 24 + ROOT, HEADER + 24 + 48 + ROOT];
    pub(super) const TRANSACTION: usize = HEADER + 24 + 2 * 48 + 8;
}

/// The number of bytes that a file of this many pages should have, where it has less and needs more.
pub(super) fn too_short(file: &mut File, page: usize, pages: u64) -> io::Result<Option<u64>> {
    let whole = pages * page as u64;
    let length = file.metadata()?.len();
    if length >= whole
        || cfg!(not(all(
            target_pointer_width = "64",
            target_endian = "little"
        )))
    {
        return Ok(None);
    }
    let mut walk = Walk { file, page, length };
    Ok((!walk.is_complete()?).then_some(whole))
}

struct Walk<'f> {
    file: &'f mut File,
    page: usize,
    length: u64,
}

impl Walk<'_> {
    /// Whether every page that the latest state needs is there.
    fn is_complete(&mut self) -> io::Result<bool> {
        let mut latest = (0, vec![]);
        for meta in [0, 1] {
            let Some(page) = self.read(meta)? else {
                return Ok(false);
            };
            if let Some(transaction) = number(&page, place::TRANSACTION)
                && transaction >= latest.0
            {
                latest = (transaction, page);
            }
        }
        let roots = place::ROOTS.iter().filter_map(|at| number(&latest.1, *at));
        let mut left: Vec<u64> = roots.collect();
        // No tree has a page twice: whatever else a damaged file says, the walk ends.
        let mut most = self.length / self.page as u64;
        while let Some(at) = left.pop() {
            // The root of an empty tree.
            if at == u64::MAX {
                continue;
            }
            let Some(page) = self.read(at)? else {
                return Ok(false);
            };
            if !self.follow(&page, &mut left)? {
                return Ok(false);
            }
            most = most.saturating_sub(1);
            if most == 0 {
                break;
            }
        }
        Ok(true)
    }

    /// Adds the pages that a page leads to; false where a value's own pages are not all there.
    fn follow(&mut self, page: &[u8], left: &mut Vec<u64>) -> io::Result<bool> {
        let flags = short(page, place::FLAGS).unwrap_or(0);
        let lower = usize::from(short(page, place::LOWER).unwrap_or(0));
        let pointers = page.get(place::HEADER..lower).unwrap_or_default();
        let nodes = pointers.chunks_exact(2).filter_map(|at| short(at, 0));
        let nodes = nodes.filter_map(|at| page.get(usize::from(at)..));
        for node in nodes {
            if flags & place::BRANCH != 0 {
                // The number takes the place of the flags as well.
                let number = number(node, 0).unwrap_or(u64::MAX) & 0xffff_ffff_ffff;
                left.push(number);
            }
            if flags & place::LEAF == 0 {
                continue;
            }
            let flags = short(node, place::NODE_FLAGS).unwrap_or(0);
            let key = usize::from(short(node, place::KEY_LENGTH).unwrap_or(0));
            let value = node.get(place::KEY + key..).unwrap_or_default();
            if flags & place::TREE != 0 {
                left.extend(number(value, place::ROOT));
            } else if flags & place::APART != 0
                && let Some(first) = number(value, 0)
                && !self.holds(first)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether all pages of a long value are there; the first says how many.
    fn holds(&mut self, first: u64) -> io::Result<bool> {
        let Some(page) = self.read(first)? else {
            return Ok(false);
        };
        let bytes = page.get(place::LOWER..).and_then(|b| b.first_chunk());
        let pages = u64::from(bytes.map_or(1, |bytes| u32::from_ne_bytes(*bytes)));
        let end = first.saturating_add(pages).saturating_mul(self.page as u64);
        Ok(end <= self.length)
    }

    /// A page; none where the file does not hold all of it.
    fn read(&mut self, number: u64) -> io::Result<Option<Vec<u8>>> {
        let at = number.saturating_mul(self.page as u64);
        if at.saturating_add(self.page as u64) > self.length {
            return Ok(None);
        }
        let mut page = vec![0; self.page];
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut page)?;
        Ok(Some(page))
    }
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*bytes))
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_ne_bytes(*bytes))
}
