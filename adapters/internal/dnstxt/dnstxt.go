// Package dnstxt asks the DNS for TXT records.
//
// The resolver of the standard library joins the strings of a record, but the
// first string alone is what proves a domain (spec/management.md §4.4); hence the
// questions are asked here.
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
	// Timeout bounds one look-up, on all servers together.
	Timeout = 5 * time.Second
	// maxServers is how many servers of the system are asked, one after the other.
	maxServers = 3
	// systemFile says which servers the system uses.
	systemFile = "/etc/resolv.conf"
	// payload is the largest answer over UDP, in bytes, that passes everywhere
	// in one piece.
	payload = 1232
)

// Resolver implements organizations.Resolver.
type Resolver struct {
	// server is host and port, empty for those of the system.
	server string
	// timeout bounds one look-up: Timeout outside tests.
	timeout time.Duration
}

// New makes a Resolver that asks one server (HOST:PORT), or those of the system
// where that is empty. It fails where the system names none.
func New(server string) (*Resolver, error) {
	r := &Resolver{server: server, timeout: Timeout}
	if server != "" {
		if host, port, err := net.SplitHostPort(server); err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("dnstxt: want HOST:PORT such as 192.0.2.1:53, not %q", server)
		}
	}
	_, err := r.servers()
	return r, err
}

// servers reads the system's servers anew each time: they change.
func (r *Resolver) servers() ([]string, error) {
	if r.server != "" {
		return []string{r.server}, nil
	}
	system, err := dns.ClientConfigFromFile(systemFile)
	if err != nil {
		return nil, fmt.Errorf("dnstxt: the system's DNS servers are not known: %w", err)
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

// TXT returns the first string of each TXT record of a host, in the order of the
// answer; none where there is no such host. Bytes outside of printable ASCII,
// quotes and backslashes are written as zone files have them, such as \255.
func (r *Resolver) TXT(ctx context.Context, host string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if _, ok := dns.IsDomainName(host); !ok {
		return nil, fmt.Errorf("dnstxt: %q is no name", host)
	}
	servers, err := r.servers()
	if err != nil {
		return nil, err
	}
	var failed []error
	for i, server := range servers {
		// Each server has its part of the time that is left.
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

// ask asks one server over UDP, and over TCP when the answer does not fit.
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

func (r *Resolver) exchange(ctx context.Context, network, server string, question *dns.Msg) (*dns.Msg, error) {
	client := &dns.Client{Net: network, Timeout: r.timeout, UDPSize: payload}
	answer, _, err := client.ExchangeContext(ctx, question, server)
	return answer, err
}

// firstStrings reads the TXT records of an answer. A server that follows aliases
// puts the records of what they stand for into the same answer.
func firstStrings(answer *dns.Msg) (out []string) {
	for _, record := range answer.Answer {
		if txt, ok := record.(*dns.TXT); ok && len(txt.Txt) > 0 {
			out = append(out, txt.Txt[0])
		}
	}
	return out
}
