package command

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

var printedLink = regexp.MustCompile(`Open the console: (http://127\.0\.0\.1:[0-9]+)/console/sign-in#([A-Za-z0-9_-]{43})\n`)

// console.md §5.2: the first start prints a link that signs the owner in, and later starts do so
// until the owner has signed in, or with --sign-in-link; with --console off no link is printed.
func TestServe_SignInLink(t *testing.T) {
	dir := t.TempDir()
	start := func(args ...string) (*instance, []string) {
		s := serve(t, time.Minute, append([]string{"--data", dir}, args...)...)
		return s, printedLink.FindStringSubmatch(s.stdout.String())
	}
	end := func(s *instance) { s.stop(); s.wait(0) }
	s, link := start("--console", "off")
	if link != nil {
		t.Errorf("without the console: %s", s.stdout)
	}
	end(s)
	s, link = start()
	if link == nil {
		t.Fatalf("no link: %s", s.stdout)
	}
	res, err := http.Post(link[1]+"/api/session/", "application/json", strings.NewReader(`{"link": "`+link[2]+`"}`))
	if err != nil || res.StatusCode != http.StatusCreated || len(res.Cookies()) != 1 {
		t.Fatal(err, res)
	}
	_ = res.Body.Close()
	end(s)
	if s, link = start(); link != nil {
		t.Errorf("after the owner has signed in: %s", s.stdout)
	}
	end(s)
	if s, link = start("--sign-in-link"); link == nil {
		t.Errorf("with --sign-in-link: %s", s.stdout)
	}
	end(s)
}

// The link to the console is the first line, at the first start and later, and the link of the first
// start is valid.
func TestServe_LinkIsFirst(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		s := serve(t, time.Minute, "--data", dir)
		link := printedLink.FindStringSubmatchIndex(s.stdout.String())
		if link == nil || link[0] != 0 {
			t.Fatalf("the first line is no link: %s", s.stdout)
		}
		out := s.stdout.String()
		if strings.Count(out, "Open the console") != 1 {
			t.Errorf("the link is not printed once: %s", out)
		}
		r, err := http.NewRequest("POST", s.url+"/api/session/link/look/", strings.NewReader(`{"link": "`+out[link[4]:link[5]]+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if status, body := do(t, r); status != http.StatusOK || !strings.Contains(body, "owner@localhost") {
			t.Errorf("the link is not valid: %d %s", status, body)
		}
		s.stop()
		s.wait(0)
	}
}
