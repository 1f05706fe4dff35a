package natstest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// output is the output of a program, for two goroutines.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) find(pattern string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(regexp.MustCompile(pattern).Find(o.text.Bytes()))
}

// The real program accepts an event with the stream and records it; without the broker it responds
// 503.
func TestBinary_Stream(t *testing.T) {
	t.Parallel()
	program := os.Getenv("TEST_BINARY")
	if program == "" {
		program = filepath.Join(t.TempDir(), "bunting")
		build := exec.Command("go", "build", "-o", program, "./cmd/bunting")
		build.Dir = "../../../.."
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	b := start(t, t.TempDir(), nil)
	cmd := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data"),
		"--stream", b.ClientURL(), "--stream-bytes", "100000000")
	cmd.Env = os.Environ()
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, out.find(`(?s).*`))
		}
	}()
	var address, key string
	waitUntil(t, "it says where it listens", func() bool {
		address, key = out.find(`http://127\.0\.0\.1:\d+`), out.find(`phc_\w+`)
		return address != "" && key != ""
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	send := func() int {
		r, err := client.Post(address+"/capture/", "application/json", strings.NewReader(fmt.Sprintf(`{"api_key":%q,"event":"e","distinct_id":"ann"}`, key)))
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		return r.StatusCode
	}
	if code := send(); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	waitUntil(t, "it is recorded, and /metrics says so", func() bool {
		r, err := client.Get(address + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		text, err := io.ReadAll(r.Body)
		return err == nil && strings.Contains(string(text), "\nbunting_capture_recorded_total 1\n") &&
			strings.Contains(string(text), "\nbunting_capture_stream_recorded_total 1\n") && strings.Contains(string(text), "\nbunting_capture_stream_waiting 0\n")
	})
	list, err := exec.Command(program, "deadletters", "--stream", b.ClientURL(), "list").CombinedOutput()
	if err != nil || string(list) != "0 dead letters\n" {
		t.Errorf("dead letters: %v\n%s", err, list)
	}
	stop(b)
	waitUntil(t, "it refuses", func() bool { return send() == http.StatusServiceUnavailable })
}
