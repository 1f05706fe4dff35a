package geoip

import (
	"net/netip"
	"strings"
)

const (
	// maxHops is the maximum number of entries of a header that are read. Real chains have fewer
	// than ten.
	maxHops = 64
	// maxAddrText is longer than any valid address with brackets, zone and port.
	maxAddrText = 80
)

// CallerIP returns the address to locate for a request (decision 7). Any client can choose it: use
// it only for locating. forwardedFor are all lines of X-Forwarded-For and literal all lines of
// HTTP_X_FORWARDED_FOR, in the order received; literal is only used if forwardedFor is absent or
// blank. A proxy may drop names with underscores, as nginx does by default. The result is the first valid entry among the first 64 entries, and fromHeader is true; if
// there is no valid entry, it is the peer, remote, and fromHeader is false. The address has no
// zone, and is in IPv4 form if possible. An invalid remote yields the zero Addr. A single address
// causes no allocation.
func CallerIP(forwardedFor, literal []string, remote netip.Addr) (ip netip.Addr, fromHeader bool) {
	lines := forwardedFor
	if isAllBlank(lines) {
		lines = literal
	}
	seen := 0
	for _, line := range lines {
		for more := true; more && seen < maxHops; seen++ {
			var entry string
			entry, line, more = strings.Cut(line, ",")
			if ip, ok := parseAddr(entry); ok {
				return ip, true
			}
		}
	}
	return normalize(remote), false
}

// ClientIP returns the address of the client as far as it can be trusted, for limits, logs and
// other uses that protect the server (decision 7). forwardedFor are all lines of X-Forwarded-For in
// the order received, remote is the peer, trusted are the networks of the proxies that may name a
// client (nil means that no proxy is trusted; see [DefaultTrusted]; an IPv4 network must be written
// as IPv4).
//
//   - A peer that is not trusted is the client; the header is not read.
//   - Otherwise the header is read from the right, over all its lines, and the first address that is not
//     trusted is the client: the nearest trusted proxy wrote it. Entries to its left were written by the
//     client and are ignored.
//   - If all addresses are trusted, the leftmost is the client; without a header, the peer.
//   - If the next entry to use is not an address, or the chain has more than 64 entries, the result is
//     the zero Addr: the client is unknown. The caller must not use an entry further left instead; it
//     should count all such requests as one client, or as the peer. The same applies to an invalid
//     remote, for example of a unix socket: a server behind one passes the address of a trusted proxy
//     as remote.
//
// The result is only as safe as trusted: every machine in a trusted network can name any client,
// and a proxy that forwards X-Forwarded-For without adding its own peer extends that right to its
// clients.
func ClientIP(forwardedFor []string, remote netip.Addr, trusted []netip.Prefix) netip.Addr {
	client := normalize(remote)
	seen := 0
	for i := len(forwardedFor) - 1; i >= 0; i-- {
		line := forwardedFor[i]
		for more := true; more; seen++ {
			if !client.IsValid() || !contains(trusted, client) {
				return client
			}
			if seen == maxHops {
				return netip.Addr{}
			}
			var entry string
			line, entry, more = cutLast(line)
			if isBlank(entry) {
				continue // RFC 9110 §5.6.1: empty elements of a list do not count
			}
			client, _ = parseAddr(entry)
		}
	}
	return client
}

// DefaultTrusted returns the networks whose machines are trusted as proxies by default: loopback
// and the private networks of RFC 1918 and RFC 4193. The caller may modify the slice.
func DefaultTrusted() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"),
		netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("172.16.0.0/12"),
		netip.MustParsePrefix("192.168.0.0/16"),
		netip.MustParsePrefix("fc00::/7"),
	}
}

// ParseRemote parses the address of a peer: host:port, [v6]:port or a bare address. For any other
// text, such as the "@" of a unix socket, it returns the zero Addr.
func ParseRemote(remoteAddr string) netip.Addr {
	ip, _ := parseAddr(remoteAddr)
	return ip
}

// parseAddr parses one entry: an IPv4 or IPv6 address, optionally with a port. IPv6 may be in
// brackets and have a zone; with a port it needs brackets. The result has no zone, and IPv4 is
// never in IPv6 form.
func parseAddr(s string) (netip.Addr, bool) {
	s = strings.Trim(s, " \t")
	if s == "" || len(s) > maxAddrText {
		return netip.Addr{}, false
	}
	host, port := s, ""
	colon := strings.IndexByte(s, ':')
	switch {
	case s[0] == '[':
		end := strings.IndexByte(s, ']')
		if end < 0 || colon < 0 || end < colon { // brackets are for IPv6
			return netip.Addr{}, false
		}
		host, port = s[1:end], s[end+1:]
	case colon >= 0 && colon == strings.LastIndexByte(s, ':'):
		host, port = s[:colon], s[colon:]
	}
	if !isPort(port) {
		return netip.Addr{}, false
	}
	if address, zone, found := strings.Cut(host, "%"); found {
		// The zone is removed here because ParseAddr would store it in a global table.
		if zone == "" || strings.IndexByte(address, ':') < 0 {
			return netip.Addr{}, false
		}
		host = address
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}, false
	}
	return ip.Unmap(), true
}

// isPort reports whether s is empty, or a colon and a number up to 65535.
func isPort(s string) bool {
	if s == "" {
		return true
	}
	if s[0] != ':' || len(s) < 2 || len(s) > 6 {
		return false
	}
	n := 0
	for _, c := range []byte(s[1:]) {
		if c < '0' || c > '9' {
			return false
		}
		n = n*10 + int(c-'0')
	}
	return n <= 65535
}

// normalize removes the zone and the IPv6 form of an IPv4 address: with either, an address would
// not match a list of networks.
func normalize(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

func contains(networks []netip.Prefix, ip netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// cutLast splits s at the last comma; more is false if s has no comma.
func cutLast(s string) (before, last string, more bool) {
	if i := strings.LastIndexByte(s, ','); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return "", s, false
}

func isBlank(s string) bool { return strings.Trim(s, " \t") == "" }

func isAllBlank(lines []string) bool {
	for _, line := range lines {
		if !isBlank(line) {
			return false
		}
	}
	return true
}
