package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// documents are projects of 10,000 flags that differ from the mix: each changes the record of a
// flag, and adds properties to its first condition.
var documents = []struct {
	name    string
	cohorts int
	change  func(i int, flag, filters map[string]any) (added []object)
}{
	{"as the management API shows them", 0, func(i int, flag, filters object) []object {
		for name, value := range (object{
			"name": fmt.Sprintf("Flag %d of the team", i), "deleted": false, "tags": []string{"team-a", "web"}, "surveys": nil, "features": nil,
			"created_by": object{"id": 17, "uuid": "018f0000-0000-7000-8000-000000000000", "first_name": "Ana", "email": "ana@example.com"},
			"created_at": "2025-01-02T03:04:05.678901Z", "ensure_experience_continuity": false, "experiment_set": []any{}, "rollback_conditions": nil,
			"can_edit": true, "user_access_level": "manager", "has_encrypted_payloads": false, "status": "ACTIVE", "evaluation_runtime": "all",
		}) {
			flag[name] = value
		}
		filters["payloads"], filters["aggregation_group_type_index"] = object{}, nil
		return nil
	}},
	{"payloads", 0, func(i int, _, filters object) []object {
		filters["payloads"] = object{"true": fmt.Sprintf(`{"a": %d, "text": "hello \"world\" of flags"}`, i)}
		return nil
	}},
	{"lists of 20", 0, func(i int, _, _ object) []object {
		var list []string
		for j := range 20 {
			list = append(list, fmt.Sprintf("customer-%d-%d@example.com", i, j))
		}
		return []object{{"key": "p", "type": "person", "operator": "exact", "value": list}}
	}},
	{"cohorts", 2000, func(i int, _, _ object) []object {
		return []object{{"key": "id", "type": "cohort", "operator": "in", "value": i%2000 + 1}}
	}},
	{"a row of dependencies", 0, func(i int, _, _ object) []object {
		return []object{{"key": fmt.Sprint(max(i, 1)), "type": "flag", "operator": "flag_evaluates_to", "value": true}}[:min(i, 1)]
	}},
	{"50 regular expressions", 0, func(i int, _, _ object) []object {
		return []object{{"key": "p", "type": "person", "operator": "regex", "value": fmt.Sprintf(`^user-%d.*@corp\.test$`, i%50)}}
	}},
}

type object = map[string]any

// document returns the mix of flags, changed, with cohorts.
func document(b *testing.B, withCohorts int, change func(i int, flag, filters object) []object) []byte {
	var doc object
	if err := json.Unmarshal(Definitions(Mixed(compileFlags)), &doc); err != nil {
		b.Fatal(err)
	}
	for i, v := range doc["flags"].([]any) {
		flag := v.(object)
		filters := flag["filters"].(object)
		first := filters["groups"].([]any)[0].(object)
		for _, p := range change(i, flag, filters) {
			first["properties"] = append(first["properties"].([]any), p)
		}
	}
	for i := range withCohorts {
		doc["cohorts"].(object)[fmt.Sprint(i+1)] = object{"type": "AND", "values": []object{
			{"key": "plan", "type": "person", "operator": "exact", "value": []string{"pro", fmt.Sprint(i)}},
			{"key": "country", "type": "person", "operator": "is_not", "value": []string{"US"}},
		}}
	}
	out, err := json.Marshal(doc)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkDocuments reads the documents as BenchmarkPlainLoad, BenchmarkOursLoad and
// BenchmarkOursSwap read the mix.
func BenchmarkDocuments(b *testing.B) {
	for _, d := range documents {
		data := document(b, d.cohorts, d.change)
		b.Run(d.name+"/plain", func(b *testing.B) { timePlain(b, data) })
		b.Run(d.name+"/ours", func(b *testing.B) {
			timeCPU(b, func() {
				if set := compile(b, data); set.Len() != compileFlags {
					b.Fatal(set.Len())
				}
			})
		})
		b.Run(d.name+"/swap", func(b *testing.B) {
			timeSwap(b, data, bytes.Replace(data, []byte(`"version":1`), []byte(`"version":2`), 1))
		})
		b.Run(d.name+"/gone", func(b *testing.B) { timeSwap(b, data, withoutFlag(b, data, compileFlags/2)) })
	}
}

// withoutFlag returns a document without one of its flags.
func withoutFlag(b *testing.B, data []byte, index int) []byte {
	var doc struct {
		Flags      []json.RawMessage `json:"flags"`
		GroupTypes json.RawMessage   `json:"group_type_mapping"`
		Cohorts    json.RawMessage   `json:"cohorts"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		b.Fatal(err)
	}
	doc.Flags = slices.Delete(doc.Flags, index, index+1)
	out, err := json.Marshal(doc)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// timeSwap compiles one document after the other.
func timeSwap(b *testing.B, documents ...[]byte) {
	var next [2]flags.Definitions
	for i := range next {
		var err error
		if next[i], err = flags.ParseDefinitions(documents[i]); err != nil {
			b.Fatal(err)
		}
	}
	set, n := flags.Compile(next[1]), 0
	timeCPU(b, func() {
		if set = set.Recompile(next[n%2]); set.Len() != len(next[n%2].Flags) {
			b.Fatal(set.Len())
		}
		n++
	})
}
