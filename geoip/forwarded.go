package geoip

import (
	"net/netip"
	"strings"
)

// The headers that CallerIP reads, in the form in which Go's net/http keeps them, so that a header map can be indexed
// without a call. A proxy may drop names with underscores (nginx does unless underscores_in_headers is on).
const (
	HeaderForwardedFor = "X-Forwarded-For"
	HeaderLiteral      = "Http_x_forwarded_for" // HTTP_X_FORWARDED_FOR, as interface §4.4 prints it
)

const (
	// maxHops is how many entries of a header are looked at. Real chains have fewer than ten.
	maxHops = 64
	// maxAddrText is longer than any address with brackets, zone and port that is worth parsing.
	maxAddrText = 80
)

// CallerIP returns the address that the caller of a request wants to have located (decision 7). Anyone may speak:
// use it for nothing but locating. forwardedFor are all lines of X-Forwarded-For and literal all lines of
// HTTP_X_FORWARDED_FOR, in the order received; literal counts only where forwardedFor is absent or blank. The first valid
// entry is the answer, whatever stands before it, among the first 64 entries; without one it is the peer, remote, and
// fromHeader is false. The address comes without zone, and as IPv4 where it is one. An invalid remote gives the zero
// Addr. A single address costs no allocation.
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

// ClientIP returns the address of the client as far as it can be trusted, for limits, logs and all that protects
// the server (decision 7). forwardedFor are all lines of X-Forwarded-For in the order received, remote is the
// peer, trusted are the networks of the proxies that may speak for a client (nil: nobody; see [DefaultTrusted]; an IPv4
// network must be written as IPv4).
//
//   - A peer that is not trusted is the client; the header is not read.
//   - Else the header is read from the right, over all its lines, and the first address that is not trusted is the
//     client: the nearest trusted proxy wrote it. What stands left of it was written by the client and is ignored.
//   - When all are trusted, the leftmost is the client; without a header, the peer.
//   - Where an entry that would be believed is not an address, or the chain has more than 64 entries, the answer is the zero
//     Addr: cannot be trusted. The caller must not fall back to an entry further left; it should count all such
//     requests as one client, or as the peer. The same for an invalid remote, e.g. of a unix socket: a server
//     behind one passes the address of a trusted proxy as remote.
//
// It is only as safe as trusted: every machine in a trusted network can name any client it likes, and a proxy that
// passes X-Forwarded-For on without adding its own peer hands that right to its clients.
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

// DefaultTrusted returns the networks whose machines are trusted as proxies unless configured otherwise: loopback and the
// private networks of RFC 1918 and RFC 4193. The slice is the caller's.
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

// ParseRemote reads the address of a peer: host:port, [v6]:port or a bare address. Anything else, such as the "@" of a
// unix socket, is the zero Addr.
func ParseRemote(remoteAddr string) netip.Addr {
	ip, _ := parseAddr(remoteAddr)
	return ip
}

// parseAddr reads one entry: an IPv4 or IPv6 address, IPv6 perhaps in brackets and with a zone, perhaps with a
// port; an IPv6 address with a port needs brackets. The address is plain: no zone, IPv4 never in IPv6 form.
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
		// The zone is cut here because ParseAddr would keep it in a table of its own.
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

// isPort accepts nothing, or a colon and a number up to 65535.
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

// normalize drops the zone and the IPv6 form of an IPv4 address: either could otherwise slip past a list of networks.
func normalize(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

func contains(networks []netip.Prefix, ip netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// cutLast returns what stands before and behind the last comma; more is false when there is none.
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
