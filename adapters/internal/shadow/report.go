package shadow

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"
	"unicode"
)

// Reasons why a request was not compared.
const (
	notSampled         = "not_sampled"     // not selected by the sample
	queueFull          = "queue_full"      // too many requests in the queue
	tooLong            = "too_long"        // the body or the response
	upstreamFailed     = "upstream_failed" // no response from the upstream
	unreadable         = "unreadable"      // a response is not one to a flag request, or the body was interrupted
	callerDisconnected = "caller_gone"     // the client disconnected before the upstream's response
)

// Causes of a difference.
const (
	causeValue    = "value"          // another value
	causePayload  = "payload"        // the same value with another payload
	causeReason   = "reason"         // the same value and payload with another reason; users see no difference
	onlySelf      = "only_self"      // the upstream's response does not have the flag
	onlyUpstream  = "only_upstream"  // this server's response does not have it
	failsSelf     = "fails_self"     // the flag fails only here
	failsUpstream = "fails_upstream" // it fails only in the upstream
	statusDiffers = "status"         // of the whole request: another HTTP status
	quotaDiffers  = "quota"          // of the whole request: one side's quota is exhausted
)

// Limits of the counts.
const (
	maxFlags      = 10000 // keys; further flags are counted together, under otherFlags
	maxPairs      = 32    // pairs of values per flag
	maxExamples   = 5     // people per pair
	maxText       = 400   // bytes of a key, a value and a person's id
	otherFlags    = "(other flags)"
	overallAnswer = "(whole answer)"
)

// Report is the result of the comparisons since the start.
type Report struct {
	Since time.Time `json:"since"`
	// Requests is the number of flag requests, of which Compared were compared and the rest
	// Skipped, by reason.
	Requests int64            `json:"requests"`
	Compared int64            `json:"compared"`
	Skipped  map[string]int64 `json:"skipped"`
	// Differing is the number of requests with a flag that differs in more than its reason; Rate is
	// their share of Compared.
	Differing int64   `json:"differing"`
	Rate      float64 `json:"rate"`
	// EventsLost counts requests with events that did not reach this server, UpstreamErrors
	// requests to which the upstream did not respond.
	EventsLost     int64 `json:"events_lost"`
	UpstreamErrors int64 `json:"upstream_errors"`
	// Flags are the flags that differ, the highest rate first.
	Flags []FlagReport `json:"flags"`
}

// FlagReport has the differences of one flag.
type FlagReport struct {
	Key string `json:"key"`
	// Compared is the number of compared values, Differing the number of different ones, without
	// differences in the reason only, and Rate their share.
	Compared  int64   `json:"compared"`
	Differing int64   `json:"differing"`
	Rate      float64 `json:"rate"`
	// Causes counts differences by cause, including the reason.
	Causes map[string]int64 `json:"causes"`
	// Pairs are the different values, the most frequent first.
	Pairs []Pair `json:"pairs"`
}

// Pair is two different values of a flag.
type Pair struct {
	Cause    string `json:"cause"`
	Self     string `json:"self"`
	Upstream string `json:"upstream"`
	Count    int64  `json:"count"`
	// People are examples of the distinct ids with these values.
	People []string `json:"people"`
}

// book has the counts of a Handler. It is safe for concurrent use.
type book struct {
	requests, eventsLost, upstreamErrors atomic.Int64

	mu        sync.Mutex
	since     time.Time
	compared  int64
	differing int64
	skipped   map[string]int64
	flags     map[string]*flagCounts
}

// flagCounts has the counts of one flag.
type flagCounts struct {
	compared, differing int64
	causes              map[string]int64
	pairs               map[[3]string]*Pair
}

func newBook() *book {
	return &book{since: time.Now(), skipped: map[string]int64{}, flags: map[string]*flagCounts{}}
}

func (b *book) skip(reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.skipped[reason]++
}

// compare counts two responses to one request.
func (b *book) compare(distinctID string, self, upstream answer) {
	if self.status != upstream.status || self.status != 200 {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.compared++
		f := b.flag(overallAnswer)
		f.compared++
		if self.status != upstream.status {
			b.differing++
			f.addDifference(statusDiffers, fmt.Sprint(self.status), fmt.Sprint(upstream.status), distinctID)
		}
		return
	}
	ours, limitedHere, err := readAnswer(self.body)
	theirs, limitedThere, err2 := readAnswer(upstream.body)
	if err != nil || err2 != nil {
		b.skip(unreadable)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.compared++
	overall := b.flag(overallAnswer)
	overall.compared++
	if limitedHere != limitedThere {
		b.differing++
		overall.addDifference(quotaDiffers, fmt.Sprint(limitedHere), fmt.Sprint(limitedThere), distinctID)
		return
	}
	differs := false
	for key := range ours {
		if _, both := theirs[key]; !both {
			theirs[key] = flagAnswer{value: nil}
		}
	}
	for key, there := range theirs {
		here := ours[key]
		f := b.flag(key)
		f.compared++
		cause := causeOf(here, there)
		if cause == "" {
			continue
		}
		f.addDifference(cause, here.String(), there.String(), distinctID)
		differs = differs || cause != causeReason
	}
	if differs {
		b.differing++
	}
}

// causeOf returns how two values differ, or "" if they are equal. A flag that is missing on one
// side has the value nil.
func causeOf(self, upstream flagAnswer) string {
	switch {
	case self.value == nil && upstream.value == nil: // null on both sides
		return ""
	case upstream.value == nil:
		return onlySelf
	case self.value == nil:
		return onlyUpstream
	case self.failed != upstream.failed && self.failed:
		return failsSelf
	case self.failed != upstream.failed:
		return failsUpstream
	case !equal(self.value, upstream.value):
		return causeValue
	case !equal(self.payload, upstream.payload):
		return causePayload
	case self.reason != upstream.reason:
		return causeReason
	}
	return ""
}

// String formats a value for the report.
func (a flagAnswer) String() string {
	switch {
	case a.value == nil:
		return "not answered"
	case a.failed:
		return "failed: " + a.reason
	case a.reason == "":
		return fmt.Sprint(a.value)
	}
	return fmt.Sprintf("%v (%s)", a.value, a.reason)
}

// flag returns the counts of a flag. The caller must hold the lock.
func (b *book) flag(key string) *flagCounts {
	if f := b.flags[key]; f != nil {
		return f
	}
	if len(b.flags) >= maxFlags || len(key) > maxText {
		key = otherFlags
	}
	if b.flags[key] == nil {
		b.flags[key] = &flagCounts{causes: map[string]int64{}, pairs: map[[3]string]*Pair{}}
	}
	return b.flags[key]
}

// addDifference counts one difference of the flag.
func (f *flagCounts) addDifference(cause, self, upstream, distinctID string) {
	if cause != causeReason {
		f.differing++
	}
	f.causes[cause]++
	self, upstream, distinctID = short(self), short(upstream), short(distinctID)
	key := [3]string{cause, self, upstream}
	p := f.pairs[key]
	if p == nil {
		if len(f.pairs) >= maxPairs {
			return
		}
		p = &Pair{Cause: cause, Self: self, Upstream: upstream}
		f.pairs[key] = p
	}
	p.Count++
	if distinctID != "" && len(p.People) < maxExamples && !slices.Contains(p.People, distinctID) {
		p.People = append(p.People, distinctID)
	}
}

// short returns the beginning of a string, as a copy that does not retain the original.
func short(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return strings.Clone(s)
}

func share(part, total int64) float64 {
	if total == 0 {
		return 0
	}
	return float64(part) / float64(total)
}

// report returns the current counts as a Report.
func (b *book) report() Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := Report{
		Since: b.since, Requests: b.requests.Load(), Compared: b.compared, Skipped: maps.Clone(b.skipped),
		Differing: b.differing, Rate: share(b.differing, b.compared),
		EventsLost: b.eventsLost.Load(), UpstreamErrors: b.upstreamErrors.Load(), Flags: []FlagReport{},
	}
	for key, f := range b.flags {
		if len(f.causes) == 0 {
			continue
		}
		one := FlagReport{Key: key, Compared: f.compared, Differing: f.differing, Rate: share(f.differing, f.compared), Causes: maps.Clone(f.causes)}
		for _, p := range f.pairs {
			pair := *p
			pair.People = slices.Clone(p.People)
			one.Pairs = append(one.Pairs, pair)
		}
		slices.SortFunc(one.Pairs, func(a, b Pair) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Self, b.Self), cmp.Compare(a.Upstream, b.Upstream))
		})
		r.Flags = append(r.Flags, one)
	}
	slices.SortFunc(r.Flags, func(a, b FlagReport) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(b.Differing, a.Differing), cmp.Compare(a.Key, b.Key))
	})
	return r
}

// Write writes a report as text, with at most that many flags.
func (r *Report) Write(w io.Writer, flags int) error {
	_, err := fmt.Fprintf(w, "%d requests for flags, %d compared, %d of them differ (%.4f %%)\n", r.Requests, r.Compared, r.Differing, 100*r.Rate)
	for _, reason := range slices.Sorted(maps.Keys(r.Skipped)) {
		_, err = fmt.Fprintf(w, "not compared, %s: %d\n", reason, r.Skipped[reason])
	}
	if len(r.Flags) == 0 || err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "flag\tdiffers\tcause\tself\tupstream\tcount\texample")
	for _, f := range r.Flags[:min(len(r.Flags), flags)] {
		for i, p := range f.Pairs {
			key, rate := f.Key, fmt.Sprintf("%.4f %%", 100*f.Rate)
			if i > 0 {
				key, rate = "", ""
			}
			person := ""
			if len(p.People) > 0 {
				person = p.People[0]
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", printable(key), rate, p.Cause, printable(p.Self), printable(p.Upstream), p.Count, printable(person))
		}
	}
	if more := len(r.Flags) - flags; more > 0 {
		_, _ = fmt.Fprintf(table, "and %d more\n", more)
	}
	return table.Flush() // it retains the first error
}

// printable replaces characters that a terminal should not receive: ids and variants come from
// clients.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
