// Package dnstxt queries the DNS for TXT records.
//
// The resolver of the standard library concatenates the strings of a record, but only the first
// string proves the ownership of a domain (spec/management.md §4.4). This package therefore sends
// its own queries.
package dnstxt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/miekg/dns"
)

const (
	// Timeout is the limit for one look-up, for all servers together.
	Timeout = 5 * time.Second
	// maxServers is the maximum number of the system's servers that are queried, one after the
	// other.
	maxServers = 3
	// systemFile has the addresses of the system's servers.
	systemFile = "/etc/resolv.conf"
	// payload is the maximum size of a UDP response, in bytes; it avoids fragmentation on common
	// networks.
	payload = 1232
)

// Resolver implements organizations.Resolver. It is safe for concurrent use.
type Resolver struct {
	// server is host and port; if empty, the system's servers are queried.
	server string
	// timeout is the limit for one look-up, which is Timeout outside of tests.
	timeout time.Duration
}

// New returns a Resolver that queries one server (HOST:PORT) or, if server is empty, those of the
// system. It fails if the address is invalid, or if the system has no servers.
func New(server string) (*Resolver, error) {
	r := &Resolver{server: server, timeout: Timeout}
	if server != "" {
		if host, port, err := net.SplitHostPort(server); err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("dnstxt: must be HOST:PORT such as 192.0.2.1:53, not %q", server)
		}
	}
	_, err := r.servers()
	return r, err
}

// servers returns the servers to query. It reads the system's servers each time, because they may
// change.
func (r *Resolver) servers() ([]string, error) {
	if r.server != "" {
		return []string{r.server}, nil
	}
	system, err := dns.ClientConfigFromFile(systemFile)
	if err != nil {
		return nil, fmt.Errorf("dnstxt: the system's DNS servers cannot be read: %w", err)
	}
	var out []string
	for _, host := range system.Servers[:min(len(system.Servers), maxServers)] {
		out = append(out, net.JoinHostPort(host, system.Port))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("dnstxt: %s names no DNS server", systemFile)
	}
	return out, nil
}

// TXT returns the first string of each TXT record of a host, in the order of the response. It
// returns nil if there is no such host. Bytes outside of printable ASCII, quotes and backslashes
// are escaped as in zone files, such as \255.
func (r *Resolver) TXT(ctx context.Context, host string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if _, ok := dns.IsDomainName(host); !ok {
		return nil, fmt.Errorf("dnstxt: %q is not a domain name", host)
	}
	servers, err := r.servers()
	if err != nil {
		return nil, err
	}
	var failed []error
	for i, server := range servers {
		// Each server has an equal part of the remaining time.
		deadline, _ := ctx.Deadline()
		part, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(servers)-i))
		answer, err := r.ask(part, server, host)
		cancel()
		if err == nil {
			return firstStrings(answer), nil
		}
		failed = append(failed, fmt.Errorf("dnstxt: asking %s for %s: %w", server, host, err))
	}
	return nil, errors.Join(failed...)
}

// ask queries one server over UDP, and over TCP if the response is truncated.
func (r *Resolver) ask(ctx context.Context, server, host string) (*dns.Msg, error) {
	question := new(dns.Msg).SetQuestion(dns.Fqdn(host), dns.TypeTXT)
	question.SetEdns0(payload, false)
	answer, err := r.exchange(ctx, "udp", server, question)
	if answer != nil && answer.Truncated {
		answer, err = r.exchange(ctx, "tcp", server, question)
	}
	switch {
	case err != nil:
		return nil, err
	case answer.Rcode != dns.RcodeSuccess && answer.Rcode != dns.RcodeNameError:
		return nil, errors.New("the server answers " + dns.RcodeToString[answer.Rcode])
	case len(answer.Question) != 1 || answer.Question[0] != question.Question[0]:
		return nil, errors.New("the answer is to another question")
	}
	return answer, nil
}

// exchange sends one query over the given network.
func (r *Resolver) exchange(ctx context.Context, network, server string, question *dns.Msg) (*dns.Msg, error) {
	client := &dns.Client{Net: network, Timeout: r.timeout, UDPSize: payload}
	answer, _, err := client.ExchangeContext(ctx, question, server)
	return answer, err
}

// firstStrings returns the first string of each TXT record of a response. A server that follows
// aliases includes the records of their targets in the same response.
func firstStrings(answer *dns.Msg) (out []string) {
	for _, record := range answer.Answer {
		if txt, ok := record.(*dns.TXT); ok && len(txt.Txt) > 0 {
			out = append(out, txt.Txt[0])
		}
	}
	return out
}
