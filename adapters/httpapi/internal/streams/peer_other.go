//go:build !linux

package streams

import (
	"net"
	"time"
)

// setWriteTimeout does nothing: there is no such option, and the limit of the operating system applies.
func setWriteTimeout(net.Conn, time.Duration) {}
