package command

import (
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
	"github.com/bunting-flags/bunting/adapters/internal/smtptest"
)

// site is the URL of the tests' servers, as --site-url sets it.
const site = "https://flags.example.com/base"

var mailedLink = regexp.MustCompile(`https://flags\.example\.com/base/signup/[0-9a-f-]{36}\?secret=[0-9A-Za-z_-]{43}`)

// post sends JSON, or an empty form if body is empty.
func (s *instance) post(address, key, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if !strings.HasPrefix(body, "{") {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return do(s.t, r)
}

// postAs is like post, with host as the request's Host header.
func (s *instance) postAs(host, path, key, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Forwarded-Host", host)
	r.Header.Set("Authorization", "Bearer "+key)
	return do(s.t, r)
}

// An invited user reads the mail, follows the link and uses the key that the page displays.
func TestServe_InvitationByMail(t *testing.T) {
	mails := smtptest.Start(t, smtptest.Options{User: "me", Password: "hushhush", Plain: true})
	file := clitest.TempFile(t, "password", "hushhush\n")
	s := serve(t, time.Minute, "--smtp-url", "smtp+plain://me@"+mails.Address, "--smtp-password-file", file, "--mail-from", "Bunting <bunting@example.org>", "--site-url", site)
	owner := printedKey.FindString(s.stdout.String())
	if status, body := s.postAs("evil.example.com", "/api/organizations/@current/invites/", owner, `{"target_email": "new@example.com"}`); status != http.StatusCreated || !strings.Contains(body, `"emailing_attempt_made":true`) || strings.Contains(body, "accept_url") {
		t.Fatal(status, body)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(mails.Next(t).Text)))
	if err != nil {
		t.Fatal(err)
	}
	link := mailedLink.FindString(string(text))
	if link == "" || strings.Contains(string(text), "evil") {
		t.Fatalf("no link to %s in %s", site, text)
	}
	target, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	status, page := s.post(s.url+strings.TrimPrefix(target.Path, "/base"), "", url.Values{"first_name": {"Nina"}, "secret": {target.Query().Get("secret")}}.Encode())
	key := printedKey.FindString(page)
	if status != http.StatusCreated || key == "" {
		t.Fatal(status, page)
	}
	if status, body := s.get("/api/organizations/@current/members/", key); status != http.StatusOK || !strings.Contains(body, "new@example.com") {
		t.Error(status, body)
	}
	if got := mails.Next(t); got.To != "owner@localhost" {
		t.Errorf("who is told: %+v", got)
	}
	s.stop()
	s.wait(0)
	if strings.Contains(s.stderr.String()+s.stdout.String(), "hush") {
		t.Error("the password is printed")
	}
}

// A wrong password is logged without the password itself, and the server ends at once although a
// mail is queued.
func TestServe_MailServerRefusesThePassword(t *testing.T) {
	mails := smtptest.Start(t, smtptest.Options{User: "me", Password: "another", Plain: true})
	s := serve(t, time.Minute, "--smtp-url", "smtp+plain://me:hushhush@"+mails.Address, "--mail-from", "bunting@example.org", "--site-url", site, "--log-level", "debug")
	owner := printedKey.FindString(s.stdout.String())
	if status, body := s.post(s.url+"/api/organizations/@current/invites/", owner, `{"target_email": "new@example.com"}`); status != http.StatusCreated {
		t.Fatal(status, body)
	}
	s.logged("a mail could not be sent, it will be tried again")
	s.stop()
	s.wait(0)
	if strings.Contains(s.stderr.String(), "hush") {
		t.Errorf("the password is logged: %s", s.stderr)
	}
}

// The TXT record of a domain is queried at the server of --dns-resolver.
func TestServe_VerifyDomain(t *testing.T) {
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	records := make(chan string, 1)
	srv := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		record, err := dns.NewRR(`_prove.example.com. 60 IN TXT "` + <-records + `"`)
		if err == nil && question.Question[0].Name == record.Header().Name {
			answer.Answer = append(answer.Answer, record)
		}
		_ = w.WriteMsg(answer)
	})}
	begun, ended := make(chan struct{}), make(chan error, 1)
	srv.NotifyStartedFunc = func() { close(begun) }
	go func() { ended <- srv.ActivateAndServe() }()
	<-begun
	defer func() {
		_ = srv.Shutdown()
		<-ended //nolint:errcheck // it ends with an error
	}()
	s := serve(t, time.Minute, "--dns-resolver", packets.LocalAddr().String(), "--domain-challenge-host", "_prove")
	owner := printedKey.FindString(s.stdout.String())
	status, body := s.post(s.url+"/api/organizations/@current/domains/", owner, `{"domain": "example.com"}`)
	id, challenge := member(t, body, "id"), member(t, body, "verification_challenge")
	if status != http.StatusCreated {
		t.Fatal(status, body)
	}
	for _, text := range []string{"another", challenge} {
		records <- text
		if status, body := s.post(s.url+"/api/organizations/@current/domains/"+id+"/verify/", owner, "{}"); status != http.StatusOK {
			t.Fatal(status, body)
		}
		_, body := s.get("/api/organizations/@current/domains/"+id+"/", owner)
		if strings.Contains(body, `"is_verified":true`) != (text == challenge) {
			t.Errorf("with %q: %s", text, body)
		}
	}
	s.stop()
	s.wait(0)
}

// member returns a string member of a JSON object.
func member(t *testing.T, body, name string) string {
	t.Helper()
	_, following, ok := strings.Cut(body, `"`+name+`":"`)
	value, _, _ := strings.Cut(following, `"`)
	if !ok || value == "" {
		t.Fatalf("no %s in %s", name, body)
	}
	return value
}

func TestConfig_PasswordsAreHidden(t *testing.T) {
	env := []string{"BUNTING_DATABASE=postgres://me:hush1@db.example.com/x"}
	for _, args := range [][]string{
		{"--print-config", "--smtp-url", "smtp://me:hush2@mail.example.com", "--mail-from", "a@example.org"},
		{"--smtp-url", "smtp://me:hush2@mail.example.com/path"},
		{"--smtp-url", "smtp://me:hu%zzsh2@mail.example.com"},
		{"--config", clitest.TempFile(t, "bunting.json", `{"smtp_url": "smtp://me:hush2 @mail.example.com"}`)},
	} {
		r := call(t, "", env, append([]string{"serve"}, args...)...)
		if strings.Contains(r.Stdout+r.Stderr, "sh1") || strings.Contains(r.Stdout+r.Stderr, "sh2") {
			t.Errorf("%v: %s%s", args, r.Stdout, r.Stderr)
		}
		if printed := args[0] == "--print-config"; printed != (r.Code == 0) || printed && (!strings.Contains(r.Stdout, "smtp://me:***@mail.example.com") || !strings.Contains(r.Stdout, "postgres://me:***@db.example.com/x")) {
			t.Errorf("%v: exit code %d: %s%s", args, r.Code, r.Stdout, r.Stderr)
		}
	}
}

func TestConfig_Mail(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no site":      {[]string{"--smtp-url", "smtp://mail.example.com", "--mail-from", "a@example.org"}, "--site-url is needed with --smtp-url: links in mails start with it"},
		"no sender":    {[]string{"--smtp-url", "smtp://mail.example.com", "--site-url", site}, "--mail-from is needed with --smtp-url"},
		"bad sender":   {[]string{"--smtp-url", "smtp://mail.example.com", "--site-url", site, "--mail-from", "me"}, "--mail-from"},
		"no file":      {[]string{"--smtp-url", "smtp://mail.example.com", "--mail-from", "a@example.org", "--site-url", site, "--smtp-password-file", "none"}, "--smtp-password-file: open none"},
		"bad site":     {[]string{"--site-url", "flags.example.com"}, "--site-url: must be a URL such as https://flags.example.com"},
		"bad resolver": {[]string{"--dns-resolver", "192.0.2.1"}, "--dns-resolver: dnstxt: must be HOST:PORT"},
		"bad mail URL": {[]string{"--smtp-url", "mail.example.com:25"}, "--smtp-url: must be smtp://USER@HOST:PORT"},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, "", nil, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, tt.args...)...)
			if r.Code == 0 || !strings.Contains(r.Stderr, tt.want) {
				t.Errorf("exit code %d, %q, want %q", r.Code, r.Stderr, tt.want)
			}
		})
	}
}

// A new address takes effect after the link that is mailed to it was used (§1.9). Opening the page
// of the link does not change the address.
func TestServe_AddressIsConfirmed(t *testing.T) {
	mails := smtptest.Start(t, smtptest.Options{Plain: true})
	s := serve(t, time.Minute, "--smtp-url", "smtp+plain://"+mails.Address, "--mail-from", "bunting@example.org", "--site-url", site)
	owner := printedKey.FindString(s.stdout.String())
	r, err := http.NewRequest(http.MethodPatch, s.url+"/api/users/@me/", strings.NewReader(`{"email": "me@example.com"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+owner)
	if status, body := do(t, r); status != http.StatusOK || member(t, body, "pending_email") != "me@example.com" || member(t, body, "email") != "owner@localhost" {
		t.Fatal(status, body)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(mails.Next(t).Text)))
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`https://flags\.example\.com/base(/verify_email/[0-9a-f-]{36})\?secret=([0-9A-Za-z]+)`).FindStringSubmatch(string(text))
	if link == nil {
		t.Fatalf("no link in %s", text)
	}
	if status, page := s.get(link[1]+"?secret="+link[2], ""); status != http.StatusOK || !strings.Contains(page, link[2]) {
		t.Error(status, page)
	}
	for _, step := range []struct {
		secret string
		status int
		email  string
	}{{"wrong", http.StatusBadRequest, "owner@localhost"}, {link[2], http.StatusOK, "me@example.com"}, {link[2], http.StatusBadRequest, "me@example.com"}} {
		status, page := s.post(s.url+link[1], "", url.Values{"secret": {step.secret}}.Encode())
		_, me := s.get("/api/users/@me/", owner)
		if status != step.status || member(t, me, "email") != step.email {
			t.Errorf("secret %s: %d %s, then %s", step.secret, status, page, me)
		}
	}
	if _, me := s.get("/api/users/@me/", owner); !strings.Contains(me, `"is_email_verified":true`) || !strings.Contains(me, `"pending_email":null`) {
		t.Error(me)
	}
	s.stop()
	s.wait(0)
}
