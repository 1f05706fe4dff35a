package flags_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// Watchers of an open file receive the keys of flags that may evaluate differently, including
// dependants of changed flags (§6), and changes of a flag's result for a subject. They are
// not called for an invalid file or if the results are the same.
func TestOpen_Watchers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	write := func(active, others string) {
		text := `{"flags": [{"id": 1, "key": "a", "active": ` + active + `, "filters": {"groups": [{}]}},
			{"id": 2, "key": "b", "active": true, "filters": {"groups": [{"properties": [{"key": "1", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}}` + others + `]}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	third := `, {"id": 3, "key": "c", "active": true, "filters": {"groups": [{}]}}`
	write("true", "")
	synctest.Test(t, func(t *testing.T) {
		r, err := flags.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var reports []string
		sub := &flags.Subject{DistinctID: "u"}
		stopKeys := r.OnChange(func(keys []string) { reports = append(reports, fmt.Sprint(keys)) })
		stopValue := r.OnValue("b", sub, func(before, after flags.Detail) {
			reports = append(reports, fmt.Sprint("b was ", before.Value(), ", is ", after.Value(), ", ", after.Err))
		})
		r.OnValue("c", sub, func(before, after flags.Detail) {
			reports = append(reports, fmt.Sprint("c: ", before.Err, ", ", after.Err))
		})
		sub.DistinctID = "" // the subject belongs to the caller after the call
		for _, step := range []struct {
			name string
			do   func()
			want []string
		}{
			{"nothing", func() {}, nil},
			{"a goes off, and b with it", func() { write("false", "") }, []string{"[a b]", "b was true, is false, <nil>"}},
			{"no definitions", func() { write("nonsense", "") }, nil},
			{"c is new", func() { write("false", third) }, []string{"[c]", "c: " + flags.ErrUnknownFlag.Error() + ", <nil>"}},
			{"white space", func() { write("false ", third) }, nil},
			{"nobody hears of keys", func() { stopKeys(); write("true", third) }, []string{"b was false, is true, <nil>"}},
			{"nor of b", func() { stopValue(); stopValue(); write("false", third) }, nil},
		} {
			reports = nil
			step.do()
			time.Sleep(time.Second)
			synctest.Wait()
			if !slices.Equal(reports, step.want) {
				t.Errorf("%s: told %q, want %q", step.name, reports, step.want)
			}
		}
		_ = r.Close()
	})
	var zero *flags.FileReader
	zero.OnChange(func([]string) {})()
	new(flags.FileReader).OnValue("a", nil, func(_, _ flags.Detail) {})()
	new(flags.FileReader).OnChange(nil)()
}
