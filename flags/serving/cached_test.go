package serving_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// The result of a read belongs to the caller: no later read, of another flag, for another
// subject or on another goroutine, modifies it. The race detector finds writes to the
// results.
func TestReader_DetailsDoNotChange(t *testing.T) {
	text := `{"flags": [
		{"id": 1, "key": "color", "active": true, "version": 7, "filters": {"groups": [{"variant": "blue"}],
			"multivariate": {"variants": [{"key": "blue", "rollout_percentage": 100}]}, "payloads": {"blue": "[1]"}}},
		{"id": 2, "key": "half", "active": true, "version": 2, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}],
			"payloads": {"true": "[2]"}}}]}`
	d := parse(t, text)
	decider, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_x", flags.Project{ID: 1}, d)})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "flags.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := flags.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	ctx := context.Background()
	for name, r := range map[string]flags.Reader{"Set": flags.Compile(d).Reader(), "Decider": decider.Reader("phc_x", flags.Selection{}), "file": file} {
		type gift struct {
			detail *flags.Detail
			want   string
		}
		show := func(d *flags.Detail) string { return fmt.Sprintf("%+v %v", *d, d.Err) }
		gifts := make(chan gift, 400)
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for i := range 100 {
					sub := &flags.Subject{DistinctID: fmt.Sprint("u", i), Person: flags.Properties{"plan": []string{"pro", "free"}[i%2]}, Partial: true}
					if i%4 == 0 {
						sub.Person = nil // undecided
					}
					_, detail := r.JSONDetail(ctx, []string{"color", "half", "nix"}[i%3], sub, nil)
					gifts <- gift{&detail, show(&detail)}
				}
			})
		}
		readers.Wait()
		close(gifts)
		for g := range gifts {
			if got := show(g.detail); got != g.want {
				t.Fatalf("%s: what was %s has become %s", name, g.want, got)
			}
		}
	}
}
