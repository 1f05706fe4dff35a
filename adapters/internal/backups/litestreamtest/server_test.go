package litestreamtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// The definitions of the demo, with the keys of its project.
const (
	definitions = "../../../../testdata/demo.json"
	projectKey  = "phc_demo"
	personalKey = "phx_demo"
)

// server is a running bunting serve.
type server struct {
	*process
	url string
}

var client = &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}

// serve starts a server on a data folder.
func serve(t *testing.T, data string, args ...string) *server {
	t.Helper()
	s := &server{process: start(t, exec.Command(program(t), append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data, "--rate-limit", "off"}, args...)...))}
	s.await(t, "the server listens", func() bool {
		_, rest, found := strings.Cut(s.out.String(), "listens on ")
		s.url, _, _ = strings.Cut(rest, "\n")
		return found && strings.Contains(rest, "\n")
	})
	return s
}

// send sends a request with a JSON body, and decodes the response into the value to which into points, unless
// it is nil. Every status from 300 on is an error.
func (s *server) send(method, path, body string, into any) error {
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+personalKey)
	r.Header.Set("Content-Type", "application/json")
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode >= 300:
		return fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, text)
	case into == nil:
		return nil
	}
	return json.Unmarshal(text, into)
}

// capture sends events with one distinct id, whose property n counts from first on. All are in one
// transaction.
func (s *server) capture(id string, first, events int) error {
	var list bytes.Buffer
	for i := range events {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"event":"step","distinct_id":%q,"properties":{"n":%d,"text":"%s","$set":{"last":%d}}}`, id, first+i, strings.Repeat("text ", 100), first+i)
	}
	return s.send("POST", "/batch/", `{"api_key":"`+projectKey+`","batch":[`+list.String()+`]}`, nil)
}

// steps summarizes the stored events of a distinct id.
type steps struct {
	count, distinct, last int
}

// steps returns the summaries of all distinct ids.
func (s *server) steps(t *testing.T) map[string]steps {
	t.Helper()
	var answer struct{ Results [][]any }
	query := `{"query":{"kind":"HogQLQuery","query":"SELECT distinct_id, count(), uniq(properties.n), max(toInt(properties.n)) FROM events WHERE event = 'step' GROUP BY distinct_id LIMIT 10000"},"refresh":"force_blocking"}`
	if err := s.send("POST", "/api/projects/1/query/", query, &answer); err != nil {
		t.Fatal(err)
	}
	out := map[string]steps{}
	for _, row := range answer.Results {
		number := func(i int) int { n, _ := row[i].(float64); return int(n) }
		out[row[0].(string)] = steps{number(1), number(2), number(3)}
	}
	return out
}
