//! The channel between supervisor, helper and init process: each message carries descriptors.
//!
//! Must never: hold logic; a message is read whole or not at all.

use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::limits::{MESSAGE_BYTES_MAX, MESSAGE_DESCRIPTORS_MAX, MESSAGE_INLINE_BYTES_MAX};

/// The message is in the packet.
const INLINE: u8 = 0;
/// The message is in a file in memory, the last descriptor of the packet.
const IN_FILE: u8 = 1;

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct FdChannel(OwnedFd);

impl AsFd for FdChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for FdChannel {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl From<FdChannel> for OwnedFd {
    fn from(channel: FdChannel) -> Self {
        channel.0
    }
}

impl FdChannel {
    /// Returns the two ends of a new channel.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let (one, other) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self(one), Self(other)))
    }

    /// Returns a second handle on this end.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Sends a message with descriptors.
    pub(crate) fn send(
        &self,
        message: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut packet = vec![INLINE];
        serde_json::to_writer(&mut packet, message)?;
        if packet.len() <= MESSAGE_INLINE_BYTES_MAX {
            return self.send_packet(&packet, descriptors);
        }
        let mut file = std::fs::File::from(memfd_create("message", MemfdFlags::CLOEXEC)?);
        file.write_all(&packet[1..])?;
        let mut all = descriptors.to_vec();
        all.push(file.as_fd());
        self.send_packet(&[IN_FILE], &all)
    }

    /// Sends a message to a peer that may be gone. Then the message has no receiver, and none is
    /// needed: what the message asks for, or reports, is over.
    pub(crate) fn send_if_open(&self, message: &impl Serialize) {
        self.send(message, &[]).ok();
    }

    fn send_packet(&self, packet: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MESSAGE_DESCRIPTORS_MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::Error::other("too many descriptors for one message"));
        }
        loop {
            match sendmsg(&self.0, &[IoSlice::new(packet)], &mut control, SendFlags::NOSIGNAL) {
                Err(rustix::io::Errno::INTR) => {}
                result => return result.map(drop).map_err(Into::into),
            }
        }
    }

    /// Returns the next message; None when the other end is gone.
    pub(crate) fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut packet = vec![0; MESSAGE_INLINE_BYTES_MAX];
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MESSAGE_DESCRIPTORS_MAX))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            let mut parts = [IoSliceMut::new(&mut packet)];
            match recvmsg(&self.0, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::CONNRESET) => return Ok(None),
                result => break result?,
            }
        };
        let mut descriptors: Vec<OwnedFd> = control
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(rights) => Some(rights),
                _ => None,
            })
            .flatten()
            .collect();
        if received.bytes == 0 {
            return Ok(None);
        }
        let cut = ReturnFlags::TRUNC | ReturnFlags::CTRUNC;
        if received.flags.intersects(cut) {
            return Err(io::Error::other("a message was cut"));
        }
        let message = match packet[0] {
            INLINE => serde_json::from_slice(&packet[1..received.bytes])?,
            _ => read_file(descriptors.pop())?,
        };
        Ok(Some((message, descriptors)))
    }
}

fn read_file<T: DeserializeOwned>(descriptor: Option<OwnedFd>) -> io::Result<T> {
    let descriptor = descriptor.ok_or_else(|| io::Error::other("a message has no content"))?;
    let mut file = std::fs::File::from(descriptor);
    file.rewind()?;
    let mut content = Vec::new();
    file.take(MESSAGE_BYTES_MAX).read_to_end(&mut content)?;
    Ok(serde_json::from_slice(&content)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_messages_arrive_whole_with_their_descriptors() {
        let (one, other) = FdChannel::pair().unwrap();
        for length in [0, 10, MESSAGE_INLINE_BYTES_MAX, 3 * MESSAGE_INLINE_BYTES_MAX] {
            let text = "x".repeat(length);
            let (reader, mut writer) = io::pipe().unwrap();
            one.send(&text, &[reader.as_fd()]).unwrap();
            let (got, descriptors) = other.receive::<String>().unwrap().unwrap();
            assert_eq!((got, descriptors.len()), (text, 1));
            writer.write_all(b"!").unwrap();
            let mut byte = [0];
            std::fs::File::from(descriptors.into_iter().next().unwrap())
                .read_exact(&mut byte)
                .unwrap();
            assert_eq!(&byte, b"!");
        }
    }

    #[test]
    fn an_end_that_is_gone_is_told_apart_from_an_error() {
        let (one, other) = FdChannel::pair().unwrap();
        drop(one);
        assert!(other.receive::<String>().unwrap().is_none());
        other.send(&"x", &[]).unwrap_err();
    }
}
