package flags

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spaolacci/murmur3"
)

// TestFlags_2_6_Buckets computes the vectors of testdata/buckets.json.
func TestFlags_2_6_Buckets(t *testing.T) {
	data, err := os.ReadFile("../testdata/buckets.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		SHA1 []struct {
			Input  string  `json:"input"`
			N      uint64  `json:"n"`
			Bucket float64 `json:"bucket"`
		} `json:"sha1"`
		Named []struct {
			Kind, Key, Identifier string
			Bucket                float64
		} `json:"named"`
		Thresholds []struct {
			Percentages []float64 `json:"percentages"`
			Boundaries  []float64 `json:"boundaries"`
		} `json:"thresholds"`
		Murmur3 []struct {
			Input  string  `json:"input"`
			Sum64  string  `json:"sum64"`
			Bucket float64 `json:"bucket"`
		} `json:"murmur3"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.SHA1) < 26 || len(vectors.Named) == 0 || len(vectors.Thresholds) < 6 || len(vectors.Murmur3) == 0 {
		t.Fatal("vectors are missing")
	}
	for _, v := range vectors.SHA1 {
		if got := hashSHA1([]byte(v.Input)); got != v.Bucket {
			t.Errorf("hashSHA1(%q) = %v, want %v", v.Input, got, v.Bucket)
		}
		divisor := float64(uint64(0xFFFFFFFFFFFFFFF))
		if got := float64(v.N) / divisor; got != v.Bucket {
			t.Errorf("%d over 15 Fs = %v, want %v: the vector is wrong", v.N, got, v.Bucket)
		}
	}
	for _, v := range vectors.Named {
		if got := bucketOfKind(t, v.Kind, v.Key, v.Identifier, SHA1); got != v.Bucket {
			t.Errorf("%s bucket of %q under %q = %v, want %v", v.Kind, v.Identifier, v.Key, got, v.Bucket)
		}
	}
	for _, v := range vectors.Thresholds {
		if got := boundaries(v.Percentages); !gocmp.Equal(got, v.Boundaries) {
			t.Errorf("boundaries of the shares %v = %v, want %v", v.Percentages, got, v.Boundaries)
		}
		if got := rolloutShare(t, v.Percentages[0]); got != v.Boundaries[0] {
			t.Errorf("a rollout of %v is compared with %v, want %v", v.Percentages[0], got, v.Boundaries[0])
		}
	}
	for _, v := range vectors.Murmur3 {
		if got := fmt.Sprintf("%016x", murmur3.Sum64([]byte(v.Input))); got != v.Sum64 {
			t.Errorf("murmur3.Sum64(%q) = %s, want %s", v.Input, got, v.Sum64)
		}
		if got := hashMurmur3([]byte(v.Input)); got != v.Bucket {
			t.Errorf("hashMurmur3(%q) = %v, want %v", v.Input, got, v.Bucket)
		}
	}
	if got := bucketOfKind(t, "rollout", "beta-search", "user-17", Murmur3); got != vectors.Murmur3[0].Bucket {
		t.Errorf("murmur3: %v, want %v", got, vectors.Murmur3[0].Bucket)
	}
}

// bucketOfKind returns the bucket that decides about a subject, as in an explanation.
func bucketOfKind(t *testing.T, kind, key, identifier string, hash Hash) float64 {
	t.Helper()
	half := 50.0
	f := Flag{ID: 1, Key: cmp.Or(key, "f"), Active: true, Hash: hash, Conditions: []Condition{{}}}
	show := func(f *FlagTrace) *BucketTrace { return f.Conditions[0].Rollout }
	switch kind {
	case "rollout":
		f.Conditions[0].Rollout = &half
	case "variant":
		f.Variants = []Variant{{Key: "a", Rollout: 50}, {Key: "b", Rollout: 50}}
		show = func(f *FlagTrace) *BucketTrace { return f.Conditions[0].Variant }
	case "holdout":
		f.Holdout = &Holdout{ID: 1, Exclusion: 50}
		show = func(f *FlagTrace) *BucketTrace { return f.Holdout }
	}
	trace := Compile(Definitions{Flags: []Flag{f}}).Explain(f.Key, &Subject{DistinctID: identifier}, time.Unix(0, 0), Selection{})
	return show(trace.Flags[0]).Bucket
}

// boundaries returns the boundaries of the variants of a compiled flag.
func boundaries(shares []float64) []float64 {
	f := Flag{ID: 1, Key: "f", Active: true}
	for i, p := range shares {
		f.Variants = append(f.Variants, Variant{Key: fmt.Sprint(i), Rollout: p})
	}
	var out []float64
	for _, v := range Compile(Definitions{Flags: []Flag{f}}).flags[0].variants {
		out = append(out, v.below)
	}
	return out
}

// rolloutShare returns the share that a bucket is compared with, as in an explanation.
func rolloutShare(t *testing.T, percentage float64) float64 {
	t.Helper()
	set := Compile(Definitions{Flags: []Flag{{ID: 1, Key: "f", Active: true, Conditions: []Condition{{Rollout: &percentage}}}}})
	trace := set.Explain("f", &Subject{DistinctID: "u"}, time.Unix(0, 0), Selection{})
	return trace.Flags[0].Conditions[0].Rollout.Share
}

// The fast hash has the same result as the general one, for every length around the block
// size and for random text (§2.1); it is in use on this version of Go.
func TestFlags_2_1_ShortHash(t *testing.T) {
	if !shortHashWorks {
		t.Error("sha1.Sum is used: the state of crypto/sha1 is laid out in a new way")
	}
	var s shortHash
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 5000 {
		text := make([]byte, n%130)
		for i := range text {
			text[i] = byte(random.IntN(256))
		}
		a, b := random.IntN(len(text)+1), random.IntN(len(text)+1)
		a, b = min(a, b), max(a, b)
		if got, want := s.sum(string(text[:a]), string(text[a:b]), string(text[b:])), hashSHA1(text); got != want {
			t.Fatalf("%q cut at %d and %d: %v, want %v", text, a, b, got, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { s.sum("beta-search.", "user-17", "variant") }); n != 0 && !RaceDetector {
		t.Errorf("%v allocations", n)
	}
}
