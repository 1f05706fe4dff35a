package streams

import (
	"net"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h, which package syscall does not define.
const tcpUserTimeout = 0x12

// setWriteTimeout makes writes fail if sent data is not acknowledged within wait. By default it
// takes a quarter of an hour to detect a peer that has vanished.
func setWriteTimeout(c net.Conn, wait time.Duration) {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = t.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // on failure the default of the system applies
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(wait.Milliseconds()))
	})
}
