package bench

import (
	"encoding/json"
	"runtime"
	"syscall"
	"testing"
)

// cpu returns the CPU time of this process on all cores, including the garbage collector.
func cpu(tb testing.TB) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// timeCPU measures the CPU time of op, including the collection of its garbage: cpu-ns/op.
func timeCPU(b *testing.B, op func()) {
	op()
	runtime.GC()
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	for range b.N {
		op()
	}
	runtime.GC() // includes the collection of the last garbage
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
}

// plain is a definitions payload for encoding/json, without checks and without compilation.
type plain struct {
	Flags []struct {
		ID      int64  `json:"id"`
		Key     string `json:"key"`
		Active  bool   `json:"active"`
		Version int64  `json:"version"`
		Filters struct {
			Groups []struct {
				Properties []struct {
					Key      string `json:"key"`
					Type     string `json:"type"`
					Operator string `json:"operator"`
					Value    any    `json:"value"`
				} `json:"properties"`
				Rollout *float64 `json:"rollout_percentage"`
				Variant string   `json:"variant"`
			} `json:"groups"`
			Multivariate *struct {
				Variants []struct {
					Key     string  `json:"key"`
					Rollout float64 `json:"rollout_percentage"`
				} `json:"variants"`
			} `json:"multivariate"`
			Payloads map[string]json.RawMessage `json:"payloads"`
		} `json:"filters"`
	} `json:"flags"`
	GroupTypes map[string]string          `json:"group_type_mapping"`
	Cohorts    map[string]json.RawMessage `json:"cohorts"`
}

// BenchmarkPlainLoad reads 10,000 flags with encoding/json into structs.
func BenchmarkPlainLoad(b *testing.B) { timePlain(b, Definitions(Mixed(compileFlags))) }

func timePlain(b *testing.B, data []byte) {
	timeCPU(b, func() {
		var p plain
		if err := json.Unmarshal(data, &p); err != nil || len(p.Flags) != compileFlags {
			b.Fatal(err, len(p.Flags))
		}
	})
}

// BenchmarkOursSwap compiles the same 10,000 flags when one of them has changed, as a server does
// for the next revision: the flag's rollout alternates between two values.
func BenchmarkOursSwap(b *testing.B) {
	var next [2][]byte
	for i := range next {
		list := Mixed(compileFlags)
		conditions := list[compileFlags/2].Conditions
		list[compileFlags/2].Conditions = append(conditions[:len(conditions)-1:len(conditions)-1], Condition{conditions[len(conditions)-1].Properties, float64(10 + i)})
		next[i] = Definitions(list)
	}
	timeSwap(b, next[:]...)
}

// BenchmarkOursDeleted compiles the flags when one of them was alternately added and deleted.
func BenchmarkOursDeleted(b *testing.B) {
	data := Definitions(Mixed(compileFlags))
	timeSwap(b, data, withoutFlag(b, data, compileFlags/2))
}

// BenchmarkOursLoad reads the same 10,000 flags and compiles them.
func BenchmarkOursLoad(b *testing.B) {
	data := Definitions(Mixed(compileFlags))
	timeCPU(b, func() {
		if set := compile(b, data); set.Len() != compileFlags {
			b.Fatal(set.Len())
		}
	})
}
