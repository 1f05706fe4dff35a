//go:build !linux

package httpapi

import (
	"net"
	"time"
)

// giveUpAfter does nothing: the system's own limit holds.
func giveUpAfter(net.Conn, time.Duration) {}
