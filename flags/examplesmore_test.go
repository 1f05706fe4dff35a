package flags_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// A faulty flag fails by itself: the other flags are decided, and the fault has its path.
func ExampleSet_Faults() {
	d, err := flags.ParseDefinitions([]byte(`{"flags": [
		{"id": 1, "key": "good", "active": true, "filters": {"groups": [{}]}},
		{"id": 2, "key": "bad", "active": true, "filters": {"groups": [
			{"properties": [{"key": "plan", "type": "person", "operator": "sounds_like", "value": "pro"}]}
		]}}
	]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	set := flags.Compile(d)
	for _, fault := range set.Faults() {
		fmt.Println(fault.Flag, "at", fault.Path)
	}
	var answers flags.Decisions
	set.Evaluate(&flags.Subject{DistinctID: "user-61"}, time.Now(), &answers)
	fmt.Println("good:", answers.Find("good").Enabled)
	fmt.Println("bad:", answers.Find("bad").Reason.Description())
	// Output:
	// bad at flags[1].filters.groups[0].properties[0].operator
	// good: true
	// bad: Failed to parse flag data
}

// One flag by its key, without the other flags.
func ExampleSet_EvaluateFlag() {
	d, err := flags.ParseDefinitions([]byte(exampleDefinitions))
	if err != nil {
		fmt.Println(err)
		return
	}
	set := flags.Compile(d)
	subject := &flags.Subject{DistinctID: "user-61", Person: flags.Properties{"plan": "team"}}
	var memory flags.Decisions
	if decision, ok := set.EvaluateFlag("beta-search", subject, time.Now(), &memory); ok {
		fmt.Println(decision.Value())
	}
	_, ok := set.EvaluateFlag("no-such-flag", subject, time.Now(), &memory)
	fmt.Println(ok)
	// Output:
	// true
	// false
}

// Select evaluates the flags that a request selects: by keys, for a runtime.
func ExampleSet_Select() {
	d, err := flags.ParseDefinitions([]byte(`{"flags": [
		{"id": 1, "key": "everywhere", "active": true, "filters": {"groups": [{}]}},
		{"id": 2, "key": "in-browsers", "active": true, "evaluation_runtime": "client", "filters": {"groups": [{}]}}
	]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	set := flags.Compile(d)
	var answers flags.Decisions
	for _, runtime := range []string{"server", "client"} {
		set.Select(&flags.Subject{DistinctID: "user-61"}, time.Now(), &flags.Selection{Runtime: runtime}, &answers)
		fmt.Print(runtime, ":")
		for i := range answers.List {
			fmt.Print(" ", answers.List[i].Key)
		}
		fmt.Println()
	}
	// Output:
	// server: everywhere
	// client: everywhere in-browsers
}

// Needs lists the facts that must be read from a store.
func ExampleSet_Needs() {
	d, err := flags.ParseDefinitions([]byte(exampleDefinitions))
	if err != nil {
		fmt.Println(err)
		return
	}
	needs := flags.Compile(d).Needs()
	fmt.Println(needs.Person)
	fmt.Println(needs.IsPersonCovered(flags.Properties{"age": 36}))
	fmt.Println(needs.IsPersonCovered(flags.Properties{"age": 36, "plan": nil}))
	// Output:
	// [age plan]
	// false
	// true
}

// Every operator has a row in one table.
func ExampleOperator_Info() {
	for _, name := range []flags.Operator{flags.IContains, "min", "sounds_like"} {
		op, ok := name.Info()
		fmt.Printf("%s is known: %v; %q, opposite %q\n", name, ok, op.Help, op.Opposite)
	}
	// Output:
	// icontains is known: true; "contains the text, ignoring ASCII case", opposite "not_icontains"
	// min is known: true; "is a number at least", opposite ""
	// sounds_like is known: false; "", opposite ""
}

// Definitions embedded in the program, in one line.
func ExampleStatic() {
	reader, err := flags.Static([]byte(exampleDefinitions))
	if err != nil {
		fmt.Println(err)
		return
	}
	user := &flags.Subject{DistinctID: "user-61", Person: flags.Properties{"age": 36}}
	fmt.Println(reader.String(context.Background(), "checkout-layout", user, "control"))
	// Output:
	// wide
}

// A file of flags with its changes: a change is in use within a second.
func ExampleOpen() {
	path := filepath.Join(os.TempDir(), "bunting-example.json")
	if err := os.WriteFile(path, []byte(exampleDefinitions), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.Remove(path) }()

	reader, err := flags.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	user := &flags.Subject{DistinctID: "user-61", Person: flags.Properties{"plan": "pro"}}
	fmt.Println(reader.Bool(context.Background(), "beta-search", user, false))
	fmt.Println(reader.Close(), reader.Err())
	// Output:
	// true
	// <nil> <nil>
}
