package browsertest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// sendAnonymous sends a request of a program, which has no cookie.
func (s *server) sendAnonymous(t *testing.T, path string, body map[string]string) (status int, answer map[string]any) {
	t.Helper()
	raw, _ := json.Marshal(body)
	res, err := http.Post(s.url+path, "application/json", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if raw, err = io.ReadAll(res.Body); err != nil || json.Unmarshal(raw, &answer) != nil {
		t.Fatal(string(raw), err)
	}
	return res.StatusCode, answer
}

// console.md §2.3, connect, and §3.9: the link contains the code, the page displays the requested
// scopes, and the user accepts or refuses the program.
func TestSignIn_Program(t *testing.T) {
	s := serve(t)
	p := s.open(t, "account")
	for button, want := range map[string]int{"Allow": 200, "Refuse": 400} {
		_, codes := s.sendAnonymous(t, "/api/cli-auth/device-code/", map[string]string{"client": "posthog-cli"})
		p.visit("connect?code=" + codes["user_code"].(string))
		p.node("heading", "Connect a program")
		p.node("textbox", "Code")
		p.accessible()
		p.click("button", "Continue")
		p.node("combobox", "Project")
		if !js[bool](p, "(document.body?.innerText ?? '').includes('posthog-cli requests a key with your rights') && (document.body?.innerText ?? '').includes('Read and change: error tracking')") {
			t.Error("the page does not say what the program asks for")
		}
		p.accessible()
		p.click("button", button)
		eventually(t, "that it is done", func() bool {
			return js[bool](p, "(document.body?.innerText ?? '').includes('You can close this page.')")
		})
		p.accessible()
		if status, answer := s.sendAnonymous(t, "/api/cli-auth/poll/", map[string]string{"device_code": codes["device_code"].(string)}); status != want {
			t.Errorf("%s: %d %v, want %d", button, status, answer, want)
		}
	}
}
