//go:build !linux

package httpapi

import (
	"net"
	"time"
)

// giveUpAfter does nothing. The default of the system applies.
func giveUpAfter(net.Conn, time.Duration) {}
