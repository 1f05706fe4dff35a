package dnstxt

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/miekg/dns"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a DNS server with a zone, which truncates large UDP responses.
func serve(t *testing.T, zone ...string) string {
	t.Helper()
	var records []dns.RR
	for _, line := range zone {
		record, err := dns.NewRR(line)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		name := question.Question[0].Name
		switch {
		case strings.HasPrefix(name, "broken."):
			answer.Rcode = dns.RcodeServerFailure
		case strings.HasPrefix(name, "another."):
			answer.Question[0].Name = "else.example.com."
		case strings.HasPrefix(name, "silent."):
			return
		}
		for _, record := range records {
			if strings.EqualFold(record.Header().Name, name) {
				answer.Answer = append(answer.Answer, record)
				if alias, ok := record.(*dns.CNAME); ok {
					name = alias.Target
				}
			}
		}
		if len(answer.Answer) == 0 && answer.Rcode == dns.RcodeSuccess {
			answer.Rcode = dns.RcodeNameError
		}
		if w.RemoteAddr().Network() == "udp" {
			size := dns.MinMsgSize
			if option := question.IsEdns0(); option != nil {
				size = int(option.UDPSize())
			}
			answer.Truncate(size)
		}
		_ = w.WriteMsg(answer)
	})
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", packets.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, srv := range []*dns.Server{{PacketConn: packets, Handler: handler}, {Listener: listener, Handler: handler}} {
		ended, begun := make(chan error, 1), make(chan struct{})
		srv.NotifyStartedFunc = func() { close(begun) }
		go func() { ended <- srv.ActivateAndServe() }()
		<-begun
		t.Cleanup(func() {
			_ = srv.Shutdown()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	return packets.LocalAddr().String()
}

func TestTXT(t *testing.T) {
	const challenge = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO-_"
	long := strings.Repeat("x", 250)
	zone := []string{
		`_posthog-challenge.example.com. 60 IN TXT "v=spf1" "joined"`,
		`_posthog-challenge.example.com. 60 IN TXT "` + challenge + `" "more"`,
		`_posthog-challenge.example.com. 60 IN A 192.0.2.1`,
		`alias.example.com. 60 IN CNAME target.example.com.`,
		`target.example.com. 60 IN TXT "there"`,
		`empty.example.com. 60 IN A 192.0.2.1`,
		`quoted.example.com. 60 IN TXT "a\"b"`,
	}
	for range 20 {
		zone = append(zone, `large.example.com. 60 IN TXT "`+long+`"`)
	}
	zone = append(zone, `large.example.com. 60 IN TXT "last"`)
	r, err := New(serve(t, zone...))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		want []string
		fail string
	}{
		"_posthog-challenge.example.com": {want: []string{"v=spf1", challenge}},
		"alias.example.com":              {want: []string{"there"}},
		"empty.example.com":              {},
		"quoted.example.com":             {want: []string{`a\"b`}},
		"none.example.com":               {},
		"broken.example.com":             {fail: "SERVFAIL"},
		"another.example.com":            {fail: "another question"},
		"a..example.com":                 {fail: "is not a domain name"},
	}
	for host, tt := range tests {
		got, err := r.TXT(t.Context(), host)
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", host, diff)
		}
		if (err != nil) != (tt.fail != "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%s: %v, want %q", host, err, tt.fail)
		}
	}
	// A response that is too large for UDP is requested over TCP.
	got, err := r.TXT(t.Context(), "large.example.com")
	if err != nil || len(got) != 21 || got[20] != "last" {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// A look-up of a server that does not respond ends with its timeout or the caller's context.
func TestTXT_Time(t *testing.T) {
	r, err := New(serve(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for _, c := range []struct {
		ctx    context.Context
		within time.Duration
	}{{ctx, time.Hour}, {t.Context(), 50 * time.Millisecond}} { // the other limit is for a test that hangs
		r.timeout = c.within
		if _, err := r.TXT(c.ctx, "silent.example.com"); err == nil {
			t.Error("an answer out of nowhere")
		}
	}
}

func TestNew(t *testing.T) {
	for _, server := range []string{"192.0.2.1", ":53", "192.0.2.1:"} {
		if _, err := New(server); err == nil {
			t.Errorf("%q is taken", server)
		}
	}
}
