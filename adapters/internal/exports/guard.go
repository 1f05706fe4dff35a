package exports

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// guard allows connections to public addresses and to the allowed networks, or only to these.
type guard struct {
	allowed     []netip.Prefix
	timeout     time.Duration
	onlyAllowed bool
}

// addressError is the error for an address that is not allowed. It does not include the address,
// which may come from a redirect or a name.
type addressError struct{}

func (*addressError) Error() string {
	return "The address of the destination, or of where it redirects to, is not public, and this server does not allow it."
}

// dial connects over TCP. The address is checked after the name was resolved, immediately before
// the connection is made, because a name may resolve to another address at any time.
func (g guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil, &addressError{}
	}
	d := net.Dialer{Timeout: g.timeout, Control: func(_, resolved string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(resolved)
		if err != nil || !g.isAllowed(to.Addr()) {
			return &addressError{}
		}
		return nil
	}}
	return d.DialContext(ctx, network, address)
}

// testDial connects and closes the connection.
func (g guard) testDial(ctx context.Context, address string) error {
	conn, err := g.dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (g guard) isAllowed(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return !g.onlyAllowed && isPublic(ip) || slices.ContainsFunc(g.allowed, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// specialNetworks are the networks of IANA's registries of special addresses that are not globally
// reachable and that package netip has no method for.
var specialNetworks = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10")

// embeddedIPv4 are IPv6 networks whose addresses include an IPv4 address, with the index of its
// first byte: NAT64 and 6to4.
var embeddedIPv4 = map[netip.Prefix]int{netip.MustParsePrefix("64:ff9b::/96"): 12, netip.MustParsePrefix("2002::/16"): 2}

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// isPublic reports whether an address is globally reachable.
func isPublic(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for network, at := range embeddedIPv4 {
		if network.Contains(ip) {
			b := ip.As16()
			return isPublic(netip.AddrFrom4([4]byte(b[at : at+4])))
		}
	}
	return !slices.ContainsFunc(specialNetworks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// transport returns an HTTP transport that uses the guard. It uses no proxy, because a proxy would
// resolve names itself.
func (g guard) transport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := g.dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &timeoutConn{conn, g.timeout}, nil
		},
		TLSClientConfig:       &tls.Config{RootCAs: roots},
		TLSHandshakeTimeout:   g.timeout,
		ResponseHeaderTimeout: g.timeout,
		IdleConnTimeout:       30 * time.Second,
		MaxIdleConnsPerHost:   2,
		DisableCompression:    true,
		ForceAttemptHTTP2:     true,
	}
}

// timeoutConn is a connection whose reads and writes each time out after timeout.
type timeoutConn struct {
	net.Conn
	timeout time.Duration
}

func (c *timeoutConn) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c *timeoutConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// hostPort returns the address of a URL's server.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
