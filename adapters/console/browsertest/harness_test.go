// Package browsertest drives the console in Chromium with the real program, only by ARIA role and
// accessible name (console.md §3 and §7). All tests share one browser.
package browsertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var (
	program string          // the real program: TEST_BINARY, or built by the first test
	browser context.Context // the shared Chromium
	axe     string          // axe-core's source
)

var long = flag.Bool("long", false, "visit every page, check the contrast of each of them and make five thousand flags, where otherwise a third of the pages, new looks and 1,200 flags do")

// sample returns every third element of a list, or all of them with -long.
func sample[T any](list []T) (out []T) {
	for i, x := range list {
		if *long || i%3 == 0 {
			out = append(out, x)
		}
	}
	return out
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "console")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	commands := [][]string{{"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"}}
	if program = os.Getenv("TEST_BINARY"); program == "" {
		program = filepath.Join(dir, "bunting")
		commands = append(commands, []string{"go", "build", "-C", "../../..", "-o", program, "./cmd/bunting"})
	}
	for _, c := range commands {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			return 1, fmt.Errorf("%s: %w\n%s", strings.Join(c, " "), err, out)
		}
	}
	source, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		return 1, err
	}
	axe = string(source)
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath("chromium-headless-shell"))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	defer stop()
	ctx, end := chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		return 1, fmt.Errorf("chromium-headless-shell (Debian's package of the same name has it): %w", err)
	}
	browser = ctx
	return m.Run(), nil
}

// server is the real program on an empty folder.
type server struct {
	provider            string // of single sign-on, to which pages may redirect
	t                   *testing.T
	url, key, publicKey string
	link                string // to the console, of the first start
	data                string // the data folder
}

var (
	listens = regexp.MustCompile(`listens on (http://\S+)`)
	keys    = regexp.MustCompile(`ph[xc]_\w+`)
	link    = regexp.MustCompile(`Open the console: (\S+)`)
)

// serve starts the program on an empty folder. The test then runs beside others, each with a server
// and a tab of its own.
func serve(t *testing.T, options ...string) *server {
	t.Helper()
	t.Parallel()
	return (&server{t: t, data: t.TempDir()}).start(options...)
}

// start starts the program on the data folder of s, and reads the missing fields of s from its output.
func (s *server) start(options ...string) *server {
	t := s.t
	t.Helper()
	cmd := exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", s.data, "--rate-limit", "off"}, options...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an orderly end waits five seconds for connections that the browser has not used
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the server said\n%s", &log)
		}
	})
	lines := bufio.NewScanner(out)
	for (s.link == "" || s.url == "" || s.key == "" || s.publicKey == "") && lines.Scan() {
		if match := listens.FindStringSubmatch(lines.Text()); match != nil {
			s.url = match[1]
		}
		if to := link.FindStringSubmatch(lines.Text()); to != nil {
			s.link = to[1]
		}
		for _, k := range keys.FindAllString(lines.Text(), -1) {
			if strings.HasPrefix(k, "phx_") {
				s.key = k
			} else {
				s.publicKey = k
			}
		}
	}
	if s.url == "" || s.key == "" || s.publicKey == "" || s.link == "" {
		t.Fatalf("the start did not print an address, keys and a link\n%s", &log)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return s
}

// api sends a request to the management API with the owner's key, and decodes its response.
func (s *server) api(method, path string, body, answer any) {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.key)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	text, err = io.ReadAll(got.Body)
	if err != nil || got.StatusCode >= 300 {
		s.t.Fatalf("%s %s: %d %s %v", method, path, got.StatusCode, text, err)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			s.t.Fatal(err)
		}
	}
}

// person sends an event that sets properties of a person.
func (s *server) person(id string, set map[string]any) {
	s.t.Helper()
	s.api("POST", "/batch/", map[string]any{"api_key": s.publicKey, "batch": []any{
		map[string]any{"event": "$set", "distinct_id": id, "properties": map[string]any{"$set": set}},
	}}, nil)
}

// flag returns the value of /flags for a person, as an SDK gets it.
func (s *server) flag(key, distinctID string) any {
	s.t.Helper()
	var got struct {
		FeatureFlags map[string]any `json:"featureFlags"`
	}
	s.api("POST", "/flags?v=1", map[string]any{"api_key": s.publicKey, "distinct_id": distinctID}, &got)
	return got.FeatureFlags[key]
}

// patience is how long a test waits for a condition before it fails.
const patience = time.Minute

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s have passed without: %s", patience, what)
		}
	}
}
