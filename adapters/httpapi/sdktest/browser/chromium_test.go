//go:build sdk

package browser_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
)

// chromium is the browser of all tests, since its start takes more processor time than a test. It is
// controlled over a pipe with the Chrome DevTools Protocol. Each test has a browser context, which
// is what a window in private mode has: its own cookies, storage and connections.
type chromium struct {
	cmd     *exec.Cmd
	profile string // the folder of the browser's data

	mu       sync.Mutex
	in       io.WriteCloser
	requests int
	answers  map[int]chan<- devtoolsMessage
	sessions map[string]func(devtoolsMessage) // receivers of events
}

// devtoolsMessage is a request, an answer or an event of the protocol.
type devtoolsMessage struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    any             `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

var sharedChromium = sync.OnceValues(startChromium)

// stopChromium ends the browser if a test has started it.
var stopChromium = func() {}

func startChromium() (*chromium, error) {
	c := &chromium{answers: map[int]chan<- devtoolsMessage{}, sessions: map[string]func(devtoolsMessage){}}
	var err error
	if c.profile, err = os.MkdirTemp("", "bunting-chromium-"); err != nil {
		return nil, err
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.cmd = exec.Command("chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-quic", "--hide-scrollbars",
		"--remote-debugging-pipe", "--user-data-dir="+c.profile)
	c.cmd.ExtraFiles = []*os.File{theirIn, theirOut} // the file descriptors 3 and 4
	// Debian's program is a shell script with the browser as its child.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = c.cmd.Start()
	_, _ = theirIn.Close(), theirOut.Close()
	if err != nil {
		return nil, fmt.Errorf("chromium-headless-shell (Debian's package of the same name has it): %w", err)
	}
	c.in = in
	go c.receive(out)
	stopChromium = func() {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
		_ = c.cmd.Wait() // it was killed
		_ = os.RemoveAll(c.profile)
	}
	return c, nil
}

// receive passes the messages of the browser on until it ends.
func (c *chromium) receive(out io.Reader) {
	for messages := bufio.NewReader(out); ; {
		text, err := messages.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			devtoolsMessage
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		m.devtoolsMessage.Params = m.Params
		c.mu.Lock()
		answer, event := c.answers[m.ID], c.sessions[m.SessionID]
		delete(c.answers, m.ID)
		c.mu.Unlock()
		if answer != nil {
			answer <- m.devtoolsMessage
		} else if event != nil {
			event(m.devtoolsMessage)
		}
	}
}

// call sends a request in a session, or to the browser if it is "", and decodes the answer.
func (c *chromium) call(session, method string, params, result any) error {
	answer := make(chan devtoolsMessage, 1)
	c.mu.Lock()
	c.requests++
	request := devtoolsMessage{ID: c.requests, SessionID: session, Method: method, Params: params}
	c.answers[request.ID] = answer
	text, err := json.Marshal(request)
	if err == nil {
		_, err = c.in.Write(append(text, 0))
	}
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-time.After(served.WaitTimeout):
		return fmt.Errorf("%s: Chromium does not answer", method)
	}
}

// tab is a page in a browser context of its own.
type tab struct {
	browser *chromium
	context string
	session string
}

// newTab opens an empty page and calls event for its events.
func newTab(t *testing.T, event func(devtoolsMessage)) *tab {
	t.Helper()
	browser, err := sharedChromium()
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ BrowserContextID, TargetID, SessionID string }
	p := &tab{browser: browser}
	err = browser.call("", "Target.createBrowserContext", nil, &made)
	if err == nil {
		p.context = made.BrowserContextID
		err = browser.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": p.context}, &made)
	}
	if err == nil {
		err = browser.call("", "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.session = made.SessionID
	browser.mu.Lock()
	browser.sessions[p.session] = event
	browser.mu.Unlock()
	return p
}

func (p *tab) do(t *testing.T, method string, params, result any) {
	t.Helper()
	if err := p.browser.call(p.session, method, params, result); err != nil {
		t.Fatal(err)
	}
}

// close closes the page with its context. Without a network it sends nothing more.
func (p *tab) close() error {
	err := p.browser.call(p.session, "Network.emulateNetworkConditions", map[string]any{"offline": true, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}, nil)
	p.browser.mu.Lock()
	delete(p.browser.sessions, p.session)
	p.browser.mu.Unlock()
	return errors.Join(err, p.browser.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": p.context}, nil))
}

// browse opens the address.
func browse(t *testing.T, address string) (stop func()) {
	t.Helper()
	p := newTab(t, func(devtoolsMessage) {})
	p.do(t, "Page.navigate", map[string]any{"url": address}, nil)
	return func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}
}
