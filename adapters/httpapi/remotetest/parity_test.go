package remotetest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

var pairs = flag.Int("pairs", 20_000, "how many random pairs of definitions and user TestRemote_AnswersAsTheServer compares")

// perProject is the number of users that are evaluated with one set of definitions.
const perProject = 250

// parityTime is the clock of both sides.
var parityTime = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestRemote_AnswersAsTheServer uses random definitions and users. Every flag that the client
// decides must equal the response of POST /flags?v=2: value, variant, reason and payload; if its
// reason is open, all except the reason. The server is the reference, and gets the same requests
// as from a Client; it has stored properties, group properties and members of static cohorts that the
// client does not have. Half of the projects need no stored data: for these no flag may be
// undecided.
func TestRemote_AnswersAsTheServer(t *testing.T) {
	projects := max(1, *pairs/perProject)
	seeds := make(chan uint64)
	var mu sync.Mutex
	var sum tally
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := range seeds {
				one := compareProject(t, seed)
				mu.Lock()
				sum.add(&one)
				mu.Unlock()
			}
		})
	}
	for seed := range projects {
		if t.Failed() {
			break
		}
		seeds <- uint64(seed)
	}
	close(seeds)
	workers.Wait()
	t.Logf("%d pairs of definitions and user, %d answers decided here and equal (of %d the reason is open), %d not decided (%.1f %%), %d not known here",
		sum.users, sum.decided, sum.open, sum.undecided, 100*float64(sum.undecided)/float64(sum.decided+sum.undecided), sum.unknown)
	for _, why := range slices.SortedFunc(maps.Keys(sum.why), func(a, b string) int { return sum.why[b] - sum.why[a] }) {
		t.Logf("not decided, %s: %.2f %%", why, 100*float64(sum.why[why])/float64(sum.decided+sum.undecided))
	}
	if sum.decided < sum.users || sum.undecided == 0 {
		t.Error("the random definitions do not exercise both kinds of answers")
	}
}

// tally counts results.
type tally struct {
	users, decided, open, undecided, unknown int
	why                                      map[string]int
}

func (a *tally) add(b *tally) {
	a.users, a.decided, a.open, a.undecided, a.unknown = a.users+b.users, a.decided+b.decided, a.open+b.open, a.undecided+b.undecided, a.unknown+b.unknown
	if a.why == nil {
		a.why = map[string]int{}
	}
	for why, n := range b.why {
		a.why[why] += n
	}
}

// serverAnswer is a flag in the response of POST /flags?v=2.
type serverAnswer struct {
	Enabled bool    `json:"enabled"`
	Variant *string `json:"variant"`
	Failed  bool    `json:"failed"`
	Reason  struct {
		Code      string `json:"code"`
		Condition *int   `json:"condition_index"`
	} `json:"reason"`
	Metadata struct {
		Payload json.RawMessage `json:"payload"`
	} `json:"metadata"`
}

func compareProject(t *testing.T, seed uint64) (sum tally) {
	g := parityGenerator{Rand: rand.New(rand.NewPCG(seed, 5)), stored: seed%2 == 0}
	text, people := g.project()
	d, err := flags.ParseDefinitions(text)
	if err != nil {
		t.Errorf("project %d: %v", seed, err)
		return sum
	}
	clock := func() time.Time { return parityTime }
	decider, err := serving.NewDecider(serving.Config{
		Source: serving.StaticSource("phc_x", flags.Project{ID: 1}, d), People: people, Continuity: people, Members: people, Now: clock,
	})
	if err != nil {
		t.Error(err)
		return sum
	}
	handler, err := httpapi.New(httpapi.Config{Decider: decider, Keys: oneKey{}})
	if err != nil {
		t.Error(err)
		return sum
	}
	var answered []byte
	c, err := remote.New(remote.Config{
		URL: "http://server", ProjectKey: "phc_x", Key: "phs_x", NoCopy: true, NoStream: true, Now: clock,
		HTTPClient: &http.Client{Transport: directTransport{handler, &answered}},
	})
	if err != nil {
		t.Error(err)
		return sum
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	defer func() {
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	if err := c.WaitForReady(ctx); err != nil {
		t.Errorf("project %d: %v", seed, err)
		return sum
	}
	sum.why = map[string]int{}
	var here flags.Decisions
	for range perProject {
		sub := g.subject()
		there := requestFlags(t, c, &answered, &sub)
		if err := c.DecideAll(ctx, &sub, &here); err != nil {
			t.Errorf("project %d: %v", seed, err)
			return sum
		}
		sum.users++
		for i := range here.List {
			d := &here.List[i]
			if d.Undecided != nil {
				sum.undecided++
				sum.why[d.Undecided.Fact]++
				if !g.stored {
					t.Errorf("project %d: %s is not decided for %+v, and nothing is stored: %v\n%s", seed, d.Key, sub, d.Undecided, text)
				}
				continue
			}
			want, ok := there[d.Key]
			if !ok {
				t.Errorf("project %d: %s is decided for %+v, the server does not answer it\n%s", seed, d.Key, sub, text)
				continue
			}
			sum.decided++
			if d.ReasonOpen != nil {
				sum.open++
				if !g.stored {
					t.Errorf("project %d: the reason of %s is open for %+v, and nothing is stored: %v\n%s", seed, d.Key, sub, d.ReasonOpen, text)
				}
			}
			if problem := differs(d, &want); problem != "" {
				t.Errorf("project %d: %s for %+v: %s\n%s", seed, d.Key, sub, problem, text)
			}
		}
		sum.unknown += max(0, len(there)-len(here.List))
		if t.Failed() {
			return sum
		}
	}
	return sum
}

func differs(here *flags.Decision, there *serverAnswer) string {
	variant, condition := "", flags.NoCondition
	if there.Variant != nil {
		variant = *there.Variant
	}
	if there.Reason.Condition != nil {
		condition = *there.Reason.Condition
	}
	var a, b any
	payload := there.Metadata.Payload
	if len(here.Payload) > 0 && json.Unmarshal(here.Payload, &a) != nil || len(payload) > 0 && json.Unmarshal(payload, &b) != nil {
		return "a payload is no JSON"
	}
	switch {
	case here.Enabled != there.Enabled || here.Variant != variant || here.Failed() != there.Failed:
		return fmt.Sprintf("%v %q here, %v %q there", here.Enabled, here.Variant, there.Enabled, variant)
	case here.ReasonOpen == nil && (here.Reason.Code.String() != there.Reason.Code || here.Reason.Condition != condition):
		return fmt.Sprintf("%v here, %+v there", here.Reason, there.Reason)
	case !reflect.DeepEqual(a, b):
		return fmt.Sprintf("payload %s here, %s there", here.Payload, payload)
	}
	return ""
}

// requestFlags makes the client request all flags, and decodes the response itself.
func requestFlags(t *testing.T, c *remote.Client, answered *[]byte, sub *flags.Subject) map[string]serverAnswer {
	if _, err := c.AskAll(context.Background(), sub); err != nil {
		t.Error(err)
		return nil
	}
	var answer struct {
		Flags map[string]serverAnswer `json:"flags"`
	}
	if err := json.Unmarshal(*answered, &answer); err != nil {
		t.Errorf("%v: %s", err, *answered)
	}
	return answer.Flags
}

// directTransport passes requests to a handler without a network, and stores the last response to a
// request for flags.
type directTransport struct {
	handler  http.Handler
	answered *[]byte
}

func (d directTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, in)
	if in.URL.Path == "/flags/" {
		*d.answered = w.Body.Bytes()
	}
	return w.Result(), nil
}

type oneKey struct{}

func (oneKey) Key(_ context.Context, key string) (httpapi.Key, error) {
	if key != "phs_x" {
		return httpapi.Key{}, flags.ErrUnknownKey
	}
	return httpapi.Key{Secret: true, Projects: []string{"phc_x"}}, nil
}
