//go:build linux

package faulttest

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var attackRequests = flag.Int("attack", 10, "how many requests each honest client makes beside an attack")

// honestClients is the number of connections that do not attack.
const honestClients = 8

// costOfHonest makes requests of honest clients, and returns the processor time of one.
func costOfHonest(t *testing.T, s *server, step func(n int) bool) time.Duration {
	t.Helper()
	began := s.processorTime(t)
	runHonestClients(t, *attackRequests, step)
	return (s.processorTime(t) - began) / time.Duration(*attackRequests*honestClients)
}

// runHonestClients makes each client make each requests. All of them must get a response, whatever
// the server does otherwise.
func runHonestClients(t *testing.T, each int, step func(n int) bool) {
	t.Helper()
	var answered atomic.Int64
	var running sync.WaitGroup
	for n := range honestClients {
		running.Go(func() {
			for range each {
				if step(n) {
					answered.Add(1)
				}
			}
		})
	}
	running.Wait()
	if got, want := answered.Load(), int64(honestClients*each); got != want {
		t.Errorf("%d of %d honest requests are answered", got, want)
	}
}

// attackCase is a body that attackers send.
type attackCase struct {
	path, key string
	body      []byte
	statuses  []int // the statuses that they may get
	// most is the highest processor time of one attacker's request, in multiples of an honest
	// request. 0: no limit.
	most float64
	// honest is the processor time of an honest request, if most is set.
	honest time.Duration
	// attackers is the number of connections that attack, 8 if zero.
	attackers int
	// early: the response must not wait for more than the beginning of the body.
	early bool
}

// answeredEarly sends the beginning of the body, and requires the response before the rest. (A
// packed body is read to its end, but is not unpacked further than its beginning.)
func (c *attackCase) answeredEarly(t *testing.T, s *server) {
	t.Helper()
	const beginning = 64 << 10
	address := strings.TrimPrefix(s.url, "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", c.path, address, len(c.body))
	if c.key != "" {
		head += "X-API-Key: " + c.key + "\r\n"
	}
	head += "\r\n"
	if _, err := conn.Write(append([]byte(head), c.body[:beginning]...)); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("HTTP/1.1 %d", c.statuses[0])
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Errorf("%d of %d bytes of a body are answered %q, %v; want %s", beginning, len(c.body), got, err, want)
	}
}

// measureAgainst has honest clients make their requests while attackers send theirs, and returns how often
// the attackers got each status.
func (c *attackCase) measureAgainst(t *testing.T, s *server, step func(n int) bool) map[int]int {
	t.Helper()
	packed := pack(t, [][]byte{c.body})
	if c.early {
		c.answeredEarly(t, s)
	}
	attackers := orDefault(c.attackers, 8)
	a := startAttack(attackers, s.url+c.path, packed, c.key)
	eventually(t, "the attack is under way", func() bool { return a.answered.Load() >= int64(attackers) })
	before, began := a.answered.Load(), s.processorTime(t)
	runHonestClients(t, *attackRequests, step)
	if c.most > 0 {
		eventually(t, "enough requests of attackers are answered", func() bool { return a.answered.Load() >= before+measured })
	}
	cpuTime, n := s.processorTime(t)-began, a.answered.Load()-before
	statuses := a.end()
	for status := range statuses {
		if !slices.Contains(c.statuses, status) {
			t.Errorf("%d answers of %d, want only %v", statuses[status], status, c.statuses)
		}
	}
	cost := max(0, cpuTime-c.honest*time.Duration(*attackRequests*honestClients)) / time.Duration(max(n, 1))
	t.Logf("%d bytes that become %d: answers %v", len(packed), len(c.body), statuses)
	if c.most > 0 {
		times := float64(cost) / float64(c.honest)
		t.Logf("one costs %s of processors, an honest request %s", cost, c.honest)
		if times > c.most {
			t.Errorf("a request of attackers costs %.1f times an honest one, want %.1f at most", times, c.most)
		}
	}
	return statuses
}

// attackUnderWay are clients that post a body repeatedly until end is called.
type attackUnderWay struct {
	answered atomic.Int64
	ending   chan struct{}
	running  sync.WaitGroup

	mu       sync.Mutex
	statuses map[int]int // number of responses by status
}

func startAttack(attackers int, url string, packed []byte, key string) *attackUnderWay {
	a := &attackUnderWay{ending: make(chan struct{}), statuses: map[int]int{}}
	for range attackers {
		a.running.Go(func() {
			client := newHTTPClient()
			defer client.CloseIdleConnections()
			for {
				select {
				case <-a.ending:
					return
				default:
					a.one(client, url, packed, key)
				}
			}
		})
	}
	return a
}

func (a *attackUnderWay) one(client *http.Client, url string, packed []byte, key string) {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(packed))
	if err != nil {
		panic(err) // the address is constant
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	if key != "" {
		r.Header.Set("X-API-Key", key)
	}
	status := 0
	if answer, err := client.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		status = answer.StatusCode
	}
	a.mu.Lock()
	a.statuses[status]++
	a.mu.Unlock()
	a.answered.Add(1)
}

func (a *attackUnderWay) end() map[int]int {
	close(a.ending)
	a.running.Wait()
	return a.statuses
}

// repeat returns a text with n equal pieces in the middle.
func repeat(head, piece string, n int, tail string) []byte {
	return []byte(head + strings.Repeat(piece, n-1) + strings.TrimSuffix(piece, ",") + tail)
}

// rejectedCost limits the cost, in honest requests, of a request that is rejected for its first
// bytes, whatever its unpacked size. Reading all of it would cost nine.
const rejectedCost = 3

// measured is the number of attackers' requests over which their cost is averaged.
const measured = 200

// Small packed bodies that are large when unpacked do not stop the intake of other clients: bodies
// without events are rejected for their first bytes, bodies with a wrong key before they are
// decoded, and the rest share the part of the budget that is not reserved for small bodies.
func TestAttack_PackedBodies(t *testing.T) {
	const key = `{"api_key":"` + apiKey + `","batch":[`
	events := func(key string) []byte { return repeat(key, `{"event":"e","distinct_id":"u"},`, 60_000, "]}") }
	tests := map[string]attackCase{
		"a million numbers":   {body: repeat("[", "1,", 1_000_000, "]"), statuses: []int{400}, most: rejectedCost},
		"numbers in a batch":  {body: repeat(key, "1,", 1_000_000, "]}"), statuses: []int{400}, most: rejectedCost},
		"events of nobody":    {body: events(`{"api_key":"phc_nobody","batch":[`), statuses: []int{401}, most: rejectedCost},
		"a million nothings":  {body: repeat(key, "{},", 1_000_000, "]}"), statuses: []int{400, 503}},
		"a long text, no key": {body: repeat(`{"x":"`, "x", 60<<20, `"}`), statuses: []int{401, 413, 503}},
	}
	s := start(t, onSQLite(t.TempDir())...)
	l := newLoad(honestClients)
	for _, c := range l.clients {
		c.generator.batchSize = 100
	}
	step := func(n int) bool { return l.clients[n].step(s.url) }
	runHonestClients(t, *attackRequests, step) // warms the server up
	honest := costOfHonest(t, s, step)
	for name, tt := range tests {
		tt.path, tt.honest = "/batch/", honest
		t.Run(name, func(t *testing.T) { tt.measureAgainst(t, s, step) })
	}
	if busy, broken := l.busy.Load(), l.broken.Load(); busy+broken > 0 {
		t.Errorf("%d honest requests were answered 503, %d not at all", busy, broken)
	}
	// All of the budget in small allocations, and as much uncollected garbage.
	if peak := s.memory(t, "VmHWM"); peak > mostMemory*5/4 {
		t.Errorf("the server had %d MB in memory, %d are allowed", peak>>20, mostMemory*5/4>>20)
	}
	l.check(t)
}

// Bodies that stop arriving use no more than the share of their address, and are cut off below 16
// KiB a second, measured over 5 seconds.
func TestAttack_SlowBodies(t *testing.T) {
	t.Parallel()
	s := start(t, onSQLite(t.TempDir())...)
	l := newLoad(honestClients)
	address := strings.TrimPrefix(s.url, "http://")
	var slow sync.WaitGroup
	var answered atomic.Int64
	for range 5 {
		slow.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(patience))
			_, _ = fmt.Fprintf(conn, "POST /batch/ HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", address, largest)
			_, _ = conn.Write(bytes.Repeat([]byte(" "), 15<<20))
			var more atomic.Int64
			go func() { // a byte now and then is below the minimum rate
				for {
					time.Sleep(time.Second)
					if _, err := conn.Write([]byte(" ")); err != nil {
						return
					}
					more.Add(1)
				}
			}()
			answer := make([]byte, len("HTTP/1.1 408"))
			if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 408" && string(answer) != "HTTP/1.1 503" {
				t.Errorf("a slow body got %q, %v", answer, err)
			}
			if n := more.Load(); n > 50 { // after 60 the connection would have been cut off anyway
				t.Errorf("a slow body is cut off after %d bytes that came one by one", n)
			}
			answered.Add(1)
		})
	}
	eventually(t, "slow bodies are in memory", func() bool { return s.metric(t, "bunting_capture_body_bytes") > 10<<20 })
	runHonestClients(t, *attackRequests, func(n int) bool { return l.clients[n].step(s.url) })
	t.Logf("beside slow bodies, of which %d have ended: %d answered 503, %d not at all", answered.Load(), l.busy.Load(), l.broken.Load())
	slow.Wait()
	eventually(t, "nothing is reserved", func() bool { return s.metric(t, "bunting_capture_body_bytes") == 0 })
	l.check(t)
}

// Long bodies of requests for flags neither fill the memory nor stop other clients: with a wrong
// key they get a response after their first bytes, with a right one they share a budget.
func TestAttack_LongFlagsBodies(t *testing.T) {
	properties := func(n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, `"p%d":{"a":%d},`, i, i)
		}
		return `{` + out.String() + `"z":1}`
	}
	flagsBody := func(key string) []byte {
		p := properties(60_000)
		return []byte(`{"api_key":"` + key + `","distinct_id":"u","person_properties":` + p + `,"group_properties":{"a":` + p + `,"b":` + p + `,"c":` + p + `}}`)
	}
	context := []byte(`{"context":{"targetingKey":"u","a":` + properties(60_000) + `,"b":` + properties(60_000) + `,"c":` + properties(60_000) + `}}`)
	const ofrep = "/ofrep/v1/evaluate/flags"
	many := `{"api_key":"` + apiKey + `","distinct_id":"u","person_properties":` + properties(70_000) + `}`
	tests := map[string]attackCase{
		"wrong key":            {path: "/flags?v=2", body: flagsBody("phc_nobody"), statuses: []int{401}, early: true},
		"right key":            {path: "/flags?v=2", body: flagsBody(apiKey), statuses: []int{200, 413, 503}},
		"too many members":     {path: "/flags?v=2", body: []byte(many), statuses: []int{400, 413, 503}},
		"wrong key over OFREP": {path: ofrep, body: context, key: "phc_nobody", statuses: []int{401}, early: true},
		"right key over OFREP": {path: ofrep, body: context, key: apiKey, statuses: []int{200, 413, 503}},
	}
	s := start(t, onSQLite(t.TempDir())...)
	client := s.client
	step := func(n int) bool {
		answer, err := client.Post(s.url+"/flags?v=2", "application/json", strings.NewReader(fmt.Sprintf(`{"api_key":%q,"distinct_id":"user-%d"}`, apiKey, n)))
		if err != nil {
			t.Error(err)
			return false
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"new-onboarding"`)) {
			t.Errorf("an honest request got %d %.200s, %v", answer.StatusCode, body, err)
			return false
		}
		return true
	}
	runHonestClients(t, *attackRequests, step) // warms the server up
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { tt.measureAgainst(t, s, step) })
	}
	if peak := s.memory(t, "VmHWM"); peak > mostMemory {
		t.Errorf("the server had %d MB in memory, %d are allowed", peak>>20, mostMemory>>20)
	} else {
		t.Logf("%d MB in memory at most", peak>>20)
	}
}

// Guesses of keys are throttled, also if each sends another client address, and do not delay
// requests with valid keys.
func TestAttack_GuessedKeys(t *testing.T) {
	t.Parallel()
	s := start(t, onSQLite(t.TempDir())...)
	ask := func(path, key, from string) int {
		r, err := http.NewRequest(http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		if from != "" {
			r.Header.Set("X-Forwarded-For", from)
		}
		status, _ := read(t)(s.client.Do(r))
		return status
	}
	for _, path := range []string{"/api/projects/1/feature_flags/", "/flags/definitions?token=" + apiKey, "/api/projects/1/feature_flags/new-onboarding/remote_config"} {
		statuses := map[int]int{}
		for range 70 {
			statuses[ask(path, "phx_guess", "")]++
		}
		for n := range 700 {
			statuses[ask(path, "phx_guess", fmt.Sprintf("2001:db8:%x::1", n))]++
		}
		t.Logf("%s: %v", path, statuses)
		if statuses[http.StatusTooManyRequests] == 0 || len(statuses) > 2 {
			t.Errorf("%s: guesses are answered %v", path, statuses)
		}
		if got := ask(path, "phx_demo", ""); got != http.StatusOK && got != http.StatusNotFound {
			t.Errorf("%s with a valid key: %d", path, got)
		}
	}
}

// Invented event names and flags, sent with the public key, do not stop the statistics of real
// names and flags.
func TestAttack_InventedNames(t *testing.T) {
	t.Parallel()
	s := start(t, onSQLite(t.TempDir())...)
	send := func(events ...string) {
		t.Helper()
		status, body := read(t)(s.client.Post(s.url+"/batch/", "application/json", strings.NewReader(`{"api_key":"`+apiKey+`","batch":[`+strings.Join(events, ",")+`]}`)))
		if status != http.StatusOK {
			t.Fatal(status, body)
		}
	}
	called := func(flag, value string) string {
		return fmt.Sprintf(`{"event":"$feature_flag_called","distinct_id":"u","properties":{"$process_person_profile":false,"$feature_flag":%q,"$feature_flag_response":%s}}`, flag, value)
	}
	var events []string
	for n := range 21_000 { // slightly more than twice the limit of distinct names
		events = append(events, called(fmt.Sprintf("invented-%05d", n), "true"))
		if n < 12_000 {
			events = append(events, fmt.Sprintf(`{"event":"invented %05d","distinct_id":"u","properties":{"$process_person_profile":false}}`, n))
		}
	}
	for piece := range slices.Chunk(events, 3000) {
		send(piece...)
	}
	send(called("new-onboarding", "true"), `{"event":"a real one","distinct_id":"u","properties":{}}`)
	get := func(path string) string {
		r, err := http.NewRequest(http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer phx_demo")
		status, body := read(t)(s.client.Do(r))
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
		return body
	}
	if body := get("/api/projects/1/event_definitions/?search=a+real"); !strings.Contains(body, `"a real one"`) {
		t.Errorf("event definitions: %.300s", body)
	}
	if body := get("/api/projects/1/feature_flags/1/"); strings.Contains(body, `"last_called_at":null`) || !strings.Contains(body, `"last_called_at"`) {
		t.Errorf("a flag that is used: %.600s", body)
	}
}
