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

var attackTime = flag.Duration("attack", 1500*time.Millisecond, "how long each attack lasts; the goals of at least 80 % of the honest rate and 4 times its p99 are measured with 20s on an idle machine")

// attackers is how many connections attack at once.
const attackers = 8

// leastKept is what must be left of the honest rate on a machine that does other
// things as well.
const leastKept = 0.2

// pace is what honest clients got.
type pace struct {
	rate float64       // requests answered 200, a second
	p99  time.Duration // of these
}

func (p pace) String() string { return fmt.Sprintf("%.0f requests a second, p99 %s", p.rate, p.p99) }

// measure lets clients repeat a step, which says whether it went well, for a while.
func measure(clients int, long time.Duration, step func(n int) bool) pace {
	var mu sync.Mutex
	var took []time.Duration
	var running sync.WaitGroup
	begin := time.Now()
	for n := range clients {
		running.Go(func() {
			for time.Since(begin) < long {
				start := time.Now()
				if ok := step(n); !ok {
					time.Sleep(5 * time.Millisecond) // an SDK waits longer
					continue
				}
				mu.Lock()
				took = append(took, time.Since(start))
				mu.Unlock()
			}
		})
	}
	running.Wait()
	slices.Sort(took)
	if len(took) == 0 {
		return pace{}
	}
	return pace{float64(len(took)) / time.Since(begin).Seconds(), took[len(took)*99/100]}
}

// attack posts a body again and again from every attacker until stop is called,
// which returns how many answers of each status there were.
func attack(url, encoding string, body []byte, headers ...string) (stop func() map[int]int) {
	ending := make(chan struct{})
	var mu sync.Mutex
	statuses := map[int]int{}
	var running sync.WaitGroup
	for range attackers {
		running.Go(func() {
			client := newHTTPClient()
			defer client.CloseIdleConnections()
			for {
				select {
				case <-ending:
					return
				default:
				}
				r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
				if err != nil {
					panic(err) // a fixed address
				}
				r.Header.Set("Content-Type", "application/json")
				if encoding != "" {
					r.Header.Set("Content-Encoding", encoding)
				}
				for i := 0; i+1 < len(headers); i += 2 {
					r.Header.Set(headers[i], headers[i+1])
				}
				status := 0
				if answer, err := client.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
					status = answer.StatusCode
				}
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			}
		})
	}
	return func() map[int]int {
		close(ending)
		running.Wait()
		return statuses
	}
}

// repeated is a text with so many equal pieces in the middle.
func repeated(head, piece string, n int, tail string) []byte {
	return []byte(head + strings.Repeat(piece, n-1) + strings.TrimSuffix(piece, ",") + tail)
}

// checkKept compares what honest clients got with and without an attack.
func checkKept(t *testing.T, least float64, without, with pace) {
	t.Helper()
	t.Logf("without: %s; attacked: %s; %.0f %% of the rate, %.1f times the p99", without, with, 100*with.rate/without.rate, float64(with.p99)/float64(without.p99))
	if with.rate < least*without.rate {
		t.Errorf("attackers leave %.0f %% of the rate, want %.0f %% at least", 100*with.rate/without.rate, 100*least)
	}
}

// leastServed is the same for attackers who have the public key and send what may be
// meant: they cost what they cost, and stop nobody.
const leastServed = 0.01

// Small packed bodies that are large inside do not stop the intake of others: those
// without events are refused for their first bytes, those with a wrong key before
// they are decoded, and the others share what is not for small bodies alone.
func TestAttack_PackedBodies(t *testing.T) {
	const key = `{"api_key":"` + apiKey + `","batch":[`
	events := func(key string) []byte { return repeated(key, `{"event":"e","distinct_id":"u"},`, 60_000, "]}") }
	tests := map[string]struct {
		body     []byte
		least    float64
		statuses []int
	}{
		"a million numbers":   {repeated("[", "1,", 1_000_000, "]"), leastKept, []int{400}},
		"numbers in a batch":  {repeated(key, "1,", 1_000_000, "]}"), leastKept, []int{400}},
		"events of nobody":    {events(`{"api_key":"phc_nobody","batch":[`), leastKept, []int{401}},
		"a million nothings":  {repeated(key, "{},", 1_000_000, "]}"), leastServed, []int{400, 503}},
		"a long text, no key": {repeated(`{"x":"`, "x", 60<<20, `"}`), leastServed, []int{401, 413, 503}},
	}
	s := start(t, onSQLite(t.TempDir())...)
	l := newLoad(8)
	for _, c := range l.clients {
		c.generator.batchSize = 100
	}
	step := func(n int) bool { return l.clients[n].step(s.url) }
	measure(len(l.clients), *attackTime/4, step) // to get warm
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			packed := pack(t, [][]byte{tt.body})
			without := measure(len(l.clients), *attackTime, step)
			stop := attack(s.url+"/batch/", "gzip", packed)
			with := measure(len(l.clients), *attackTime, step)
			statuses := stop()
			t.Logf("%d bytes that become %d: answers %v", len(packed), len(tt.body), statuses)
			for status := range statuses {
				if !slices.Contains(tt.statuses, status) {
					t.Errorf("%d answers of %d, want only %v", statuses[status], status, tt.statuses)
				}
			}
			checkKept(t, tt.least, without, with)
		})
	}
	if busy, broken := l.busy.Load(), l.broken.Load(); busy+broken > 0 {
		t.Errorf("%d honest requests were answered 503, %d not at all", busy, broken)
	}
	// All of the budget in few pieces, and as much again until they are collected.
	if peak := s.memory(t, "VmHWM"); peak > mostMemory*5/4 {
		t.Errorf("the server had %d MB in memory, %d are allowed", peak>>20, mostMemory*5/4>>20)
	}
	l.check(t)
}

// Bodies that stop coming hold no more than the share of their address, and are cut
// off: 16 KiB a second, measured over 5 seconds, is the least.
func TestAttack_SlowBodies(t *testing.T) {
	t.Parallel()
	s := start(t, onSQLite(t.TempDir())...)
	l := newLoad(4)
	address := strings.TrimPrefix(s.url, "http://")
	var slow sync.WaitGroup
	var answered atomic.Int64
	begin := time.Now()
	for range 5 {
		slow.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(begin.Add(50 * time.Second)) // the server's own time for a body is 60
			_, _ = fmt.Fprintf(conn, "POST /batch/ HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", address, largest)
			_, _ = conn.Write(bytes.Repeat([]byte(" "), 15<<20))
			go func() { // a byte now and then is no body
				for range 50 {
					time.Sleep(time.Second)
					if _, err := conn.Write([]byte(" ")); err != nil {
						return
					}
				}
			}()
			answer := make([]byte, len("HTTP/1.1 408"))
			if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 408" && string(answer) != "HTTP/1.1 503" {
				t.Errorf("a slow body got %q, %v", answer, err)
			}
			answered.Add(1)
		})
	}
	eventually(t, 20*time.Second, "slow bodies are in memory", func() bool { return s.metric(t, "bunting_capture_body_bytes") > 10<<20 })
	honest := measure(len(l.clients), *attackTime, func(n int) bool { return l.clients[n].step(s.url) })
	t.Logf("beside slow bodies: %s, %d of them ended", honest, answered.Load())
	if honest.rate == 0 || l.busy.Load()+l.broken.Load() > 0 {
		t.Errorf("beside slow bodies: %s, %d answered 503, %d not at all", honest, l.busy.Load(), l.broken.Load())
	}
	slow.Wait()
	t.Logf("the last slow body was ended after %s", time.Since(begin).Round(time.Second))
	eventually(t, 10*time.Second, "nothing is reserved", func() bool { return s.metric(t, "bunting_capture_body_bytes") == 0 })
	l.check(t)
}

// Long bodies on the ways to flags do not fill the memory, nor stop those who ask for
// theirs: with a wrong key they are answered for their first bytes, with a right one
// they share a budget.
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
	tests := map[string]struct {
		path     string
		body     []byte
		key      string // in the header
		least    float64
		statuses []int
	}{
		"wrong key":            {"/flags?v=2", flagsBody("phc_nobody"), "", leastKept, []int{401}},
		"right key":            {"/flags?v=2", flagsBody(apiKey), "", leastServed, []int{200, 413, 503}},
		"too many members":     {"/flags?v=2", []byte(`{"api_key":"` + apiKey + `","distinct_id":"u","person_properties":` + properties(70_000) + `}`), "", leastServed, []int{400, 413, 503}},
		"wrong key over OFREP": {ofrep, context, "phc_nobody", leastKept, []int{401}},
		"right key over OFREP": {ofrep, context, apiKey, leastServed, []int{200, 413, 503}},
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
	const clients = 8
	measure(clients, *attackTime/4, step) // to get warm
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			packed := pack(t, [][]byte{tt.body})
			without := measure(clients, *attackTime, step)
			stop := attack(s.url+tt.path, "gzip", packed, "X-API-Key", tt.key)
			with := measure(clients, *attackTime, step)
			statuses := stop()
			t.Logf("%d bytes that become %d: answers %v", len(packed), len(tt.body), statuses)
			for status := range statuses {
				if !slices.Contains(tt.statuses, status) {
					t.Errorf("%d answers of %d, want only %v", statuses[status], status, tt.statuses)
				}
			}
			checkKept(t, tt.least, without, with)
		})
	}
	if peak := s.memory(t, "VmHWM"); peak > mostMemory {
		t.Errorf("the server had %d MB in memory, %d are allowed", peak>>20, mostMemory>>20)
	} else {
		t.Logf("%d MB in memory at most", peak>>20)
	}
}

// Guesses of keys are throttled, also where each names another client, and hold no
// valid key up.
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

// Invented names and flags, sent with the public key, do not end the statistics of
// real ones.
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
	for n := range 21_000 { // twice as many as are told apart, and some
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
