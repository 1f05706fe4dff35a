package remote

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// benchSet has a hundred flags: conditions on properties, variants, a rollout.
func benchSet(b *testing.B) *flags.Set {
	b.Helper()
	text := `{"flags":[`
	for i := range 100 {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(`{"id":%d,"key":"flag-%d","active":true,"version":1,"filters":{"groups":[
			{"properties":[{"key":"plan","type":"person","operator":"exact","value":["pro","team"]},{"key":"age","type":"person","operator":"gt","value":17}],"rollout_percentage":50},
			{"properties":[{"key":"email","type":"person","operator":"icontains","value":"@example.com"}],"rollout_percentage":100}],
			"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}}}`, i+1, i)
	}
	d, err := flags.ParseDefinitions([]byte(text + `]}`))
	if err != nil {
		b.Fatal(err)
	}
	return flags.Compile(d)
}

func benchSubject() *flags.Subject {
	return &flags.Subject{DistinctID: "user-4711", Person: flags.Properties{"plan": "pro", "age": 42, "email": "a@example.com"}}
}

func benchClient(b *testing.B, change func(*Config)) *Client {
	b.Helper()
	set := benchSet(b)
	config := Config{URL: "http://127.0.0.1:1", ProjectKey: "phc_x", Key: "phs_x"}
	if change != nil {
		change(&config)
	}
	c, err := NewClientOn(config, set)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(ctx)
	})
	return c
}

// Compares Set.EvaluateFlag, with a fixed time and with the current time, to Decide.
func BenchmarkRemote_BareNoAlloc(b *testing.B) {
	set, sub := benchSet(b), benchSubject()
	sub.Partial = true
	var out flags.Decisions
	at := time.Now()
	for _, clock := range []bool{false, true} {
		b.Run(fmt.Sprintf("clock=%v", clock), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if clock {
					at = time.Now()
				}
				if d, ok := set.EvaluateFlag("flag-50", sub, at, &out); !ok || !d.Enabled {
					b.Fatal(d)
				}
			}
		})
	}
}

func BenchmarkRemote_DecideNoAlloc(b *testing.B) {
	c, ctx := benchClient(b, nil), context.Background()
	for _, partial := range []bool{true, false} { // whether the subject is Partial; false copies it
		sub := benchSubject()
		sub.Partial = partial
		b.Run(fmt.Sprintf("partial=%v", partial), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d, ok, err := c.Decide(ctx, "flag-50", sub); !ok || !d.Enabled || err != nil {
					b.Fatal(d, err)
				}
			}
		})
	}
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			sub := benchSubject()
			for pb.Next() {
				if _, ok, err := c.Decide(ctx, "flag-50", sub); !ok || err != nil {
					b.Error(err)
				}
			}
		})
	})
}

func BenchmarkRemote_DecideAllNoAlloc(b *testing.B) {
	c, ctx, sub := benchClient(b, nil), context.Background(), benchSubject()
	var out flags.Decisions
	if err := c.DecideAll(ctx, sub, &out); err != nil {
		b.Fatal(err)
	}
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		set, sub := c.set(), benchSubject()
		sub.Partial = true
		for b.Loop() {
			set.Evaluate(sub, time.Now(), &out)
		}
	})
	b.Run("client", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := c.DecideAll(ctx, sub, &out); err != nil || len(out.List) != 100 {
				b.Fatal(err)
			}
		}
	})
}

// Reads a value after its exposure was sent.
func BenchmarkRemote_BoolNoAlloc(b *testing.B) {
	ctx := context.Background()
	for _, exposed := range []bool{false, true} {
		b.Run(fmt.Sprintf("NoExposures=%v", exposed), func(b *testing.B) {
			c, sub := benchClient(b, func(c *Config) { c.NoExposures = exposed }), benchSubject()
			c.Bool(ctx, "flag-50", sub, false)
			b.ReportAllocs()
			for b.Loop() {
				if !c.Bool(ctx, "flag-50", sub, false) {
					b.Fatal("off")
				}
			}
		})
	}
}

func BenchmarkRemote_Track(b *testing.B) {
	c, ctx := benchClient(b, nil), context.Background()
	p := map[string]any{"plan": "pro", "amount": 12.5}
	b.ReportAllocs()
	for b.Loop() {
		_ = c.Track(ctx, "user-4711", "purchase", p, nil)
	}
}
