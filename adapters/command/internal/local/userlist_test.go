package local

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/capture"
)

// listedUsers returns the distinct ids of a list, and the error at its end.
func listedUsers(text string) (ids []string, err error) {
	r := newUserReader("f", strings.NewReader(text))
	for {
		u, err := r.next()
		if u == nil || err != nil {
			return ids, err
		}
		ids = append(ids, u.subject.DistinctID)
	}
}

// Users are one a line, as a JSON object, a JSON string or a plain distinct id, or they are a JSON
// list. Empty lines are skipped.
func TestUserList_Formats(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                  nil,
		"\n \n":                             nil,
		"a":                                 {"a"},
		"a\nb\r\n\n c d \n":                 {"a", "b", "c d"},
		"{\"distinct_id\":\"a\"}\n\"b\"\nc": {"a", "b", "c"},
		`{"distinct_id":5.0}`:               {"5.0"},
		`""`:                                {""},
		"null\n5\n[x]\n":                    {"null", "5", "[x]"}, // only { and " begin JSON on a line
		"[]":                                nil,
		" [ ] ":                             nil,
		`["a","b"]`:                         {"a", "b"},
		"[\n{\"distinct_id\":\"a,]\"},\n\"b\\\"]\"\n]\n": {"a,]", `b"]`},
		"\ufeffa\nb": {"a", "b"},
	} {
		ids, err := listedUsers(text)
		if diff := cmp.Diff(want, ids); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

// Errors of a list have the line of the user, and the users before it are read.
func TestUserList_Errors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		read int
		want string // the beginning
	}{
		"the third of three":  {"a\nb\n{}\n", 2, `f: line 3: the user has no "distinct_id"`},
		"empty lines count":   {"a\n\n\n{\n", 1, "f: line 4: the JSON is incomplete: write each user on one line, or all in a list"},
		"in a list":           {"[\"a\",\n\"b\",\n{}]", 2, `f: line 3: the user has no "distinct_id"`},
		"a broken object":     {`{"distinct_id" "a"}`, 0, "f: line 1: invalid character '\"' after object key"},
		"a list after a list": {"[\"a\"]\n[\"b\"]", 1, "f: line 2: text after the list"},
		"damaged gzip":        {"\x1f\x8b\x08damaged", 0, "f: line 1: "},
		"a group of a number": {`{"distinct_id":"a","groups":{"company":true}}`, 0, "f: line 1: groups.company: must be text or a number"},
		"a cohort of text":    {`{"distinct_id":"a","stored":{"cohorts":[1,"2"]}}`, 0, "f: line 1: stored.cohorts[1]: must be the id of a cohort as a whole number"},
		"a date":              {`{"distinct_id":"a","stored":{"created_at":"2026-01-31"}}`, 0, "f: line 1: stored.created_at: must be a time such as 2026-01-31T12:00:00Z"},
	} {
		ids, err := listedUsers(c.text)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || len(ids) != c.read {
			t.Errorf("%s: %d users, %v, want %s", name, len(ids), err, c.want)
		}
	}
	// The maximum size of a line includes its end.
	for size, want := range map[int]int{maxUserLine - 1: 2, maxUserLine: 0} {
		if ids, err := listedUsers(strings.Repeat("x", size) + "\nb"); len(ids) != want || (err == nil) != (want == 2) {
			t.Errorf("a line of %d bytes: %d users, %v", size, len(ids), err)
		}
	}
}

// The line of a dead letter: its id, the time in UTC, and its events and projects or why it cannot
// be read.
func TestDeadLetters_Lines(t *testing.T) {
	t.Parallel()
	const id = "00000000-0000-0000-0000-000000000000"
	at := time.Date(2026, 3, 31, 14, 0, 0, 0, time.FixedZone("", 7200))
	for _, c := range []struct {
		letter natsstream.DeadLetter
		want   string
	}{
		{natsstream.DeadLetter{At: at, Batches: []*capture.Batch{
			{ProjectID: 20, Events: make([]capture.Event, 1)}, {ProjectID: 1, Events: make([]capture.Event, 2)}, {ProjectID: 20},
		}}, id + "  2026-03-31T12:00:00Z  3 events  project 1 20\n"},
		{natsstream.DeadLetter{At: at, Fault: errors.New("damaged")}, id + "  2026-03-31T12:00:00Z  unreadable: damaged\n"},
	} {
		if got := deadLetterLine(&c.letter); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The command line of deadletters is refused before the stream is opened.
func TestDeadLetters_CommandLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args string
		want string
	}{
		"no action":      {"", "deadletters: give one of list, requeue and drop"},
		"two actions":    {"list drop", "deadletters: give one of list, requeue and drop"},
		"no stream":      {"list", "deadletters: name the stream with --stream URL"},
		"a bad stream":   {"list --stream http://x", "deadletters: --stream: must be nats://HOST:PORT"},
		"another action": {"purge --stream nats://h", `deadletters: unknown action "purge", must be list, requeue or drop`},
		"a wrong option": {"list --ids x", "there is no option --ids; did you mean --id?"},
	} {
		r := call(t, "", nil, append([]string{"deadletters"}, strings.Fields(c.args)...)...)
		if r.Code != cli.ExitUsage || !strings.Contains(r.Stderr, c.want) || r.Stdout != "" {
			t.Errorf("%s: %s", name, fmt.Sprint(r))
		}
	}
}
