package flags_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// exampleDefinitions has the form of a definitions payload.
const exampleDefinitions = `{"flags": [
	{"id": 1, "key": "beta-search", "active": true, "filters": {"groups": [
		{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro", "team"]}]}
	]}},
	{"id": 2, "key": "checkout-layout", "active": true, "filters": {
		"groups": [{"properties": [{"key": "age", "type": "person", "operator": "gte", "value": 18}], "rollout_percentage": 90}],
		"multivariate": {"variants": [{"key": "control", "rollout_percentage": 50}, {"key": "wide", "rollout_percentage": 50}]},
		"payloads": {"wide": "{\"columns\": 3}"}
	}}
]}`

// Three calls for a file of flags: parse it, compile it, evaluate.
func Example() {
	d, err := flags.ParseDefinitions([]byte(exampleDefinitions))
	if err != nil {
		fmt.Println(err)
		return
	}
	set := flags.Compile(d)
	for _, fault := range set.Faults() {
		fmt.Println("fault:", fault)
	}

	subject := &flags.Subject{DistinctID: "user-61", Person: flags.Properties{"plan": "Pro", "age": 36}}
	var answers flags.Decisions // reuse it to avoid allocations
	set.Evaluate(subject, time.Now(), &answers)
	for i := range answers.List {
		d := &answers.List[i]
		fmt.Println(d.Key, "is", d.Value(), "because", d.Reason.Description())
		if d.Payload != nil {
			fmt.Println("with", string(d.Payload))
		}
	}
	// Output:
	// beta-search is true because Matched condition set 1
	// checkout-layout is wide because Matched condition set 1
	// with "{\"columns\": 3}"
}

// Explain returns the facts that a flag used and the reason for its result.
func ExampleSet_Explain() {
	d, err := flags.ParseDefinitions([]byte(exampleDefinitions))
	if err != nil {
		fmt.Println(err)
		return
	}
	subject := &flags.Subject{DistinctID: "user-61", Person: flags.Properties{"age": "36"}}
	at := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	fmt.Print(flags.Compile(d).Explain("checkout-layout", subject, at, flags.Selection{}))
	// Output:
	// flag "checkout-layout" at 2024-05-01T12:00:00Z
	//   answer: "wide" (condition_match: Matched condition set 1)
	//   because: condition 1 of 1 matched: sha1 of "checkout-layout.user-61" is 0.8571438132727491 <= 0.9; variant wide by bucket 0.5698252224547713
	//   condition 1, about a person: condition_match
	//     person property "age" gte 18; saw "36" (string, request): yes
	//     rollout: sha1 of "checkout-layout.user-61" is 0.8571438132727491 <= 0.9
	//     variant: sha1 of "checkout-layout.user-61variant" is 0.5698252224547713: wide
}

// For a partial subject, a property that was not supplied is unknown instead of missing: a
// flag that could change with it is undecided.
func ExampleSubject_partial() {
	d, err := flags.ParseDefinitions([]byte(exampleDefinitions))
	if err != nil {
		fmt.Println(err)
		return
	}
	subject := &flags.Subject{DistinctID: "user-61", Person: flags.Properties{"plan": "free"}, Partial: true}
	var answers flags.Decisions
	flags.Compile(d).Evaluate(subject, time.Now(), &answers)
	for i := range answers.List {
		d := &answers.List[i]
		if d.Undecided != nil {
			fmt.Println(d.Key, "-", d.Undecided)
			continue
		}
		fmt.Println(d.Key, d.Enabled)
	}
	// Output:
	// beta-search false
	// checkout-layout - not decided: unknown person property "age"
}

// Typed reads with a default, from a Set.
func ExampleSet_Reader() {
	d, err := flags.ParseDefinitions([]byte(exampleDefinitions))
	if err != nil {
		fmt.Println(err)
		return
	}
	reader, ctx := flags.Compile(d).Reader(), context.Background()
	user := &flags.Subject{DistinctID: "user-61", Person: flags.Properties{"plan": "pro", "age": 36}}
	fmt.Println(reader.Bool(ctx, "beta-search", user, false))
	fmt.Println(reader.String(ctx, "checkout-layout", user, "control"))
	type layout struct{ Columns int }
	fmt.Println(flags.JSON(ctx, reader, "checkout-layout", user, layout{Columns: 1}))

	value, why := reader.BoolDetail(ctx, "beta-serach", user, false)
	fmt.Println(value, errors.Is(why.Err, flags.ErrUnknownFlag))
	// Output:
	// true
	// wide
	// {3}
	// false true
}

// The flags of one request: evaluated on their first read, and available to the handler, the
// page and every function with the context.
func ExampleSnapshot() {
	reader, err := flags.Static([]byte(exampleDefinitions))
	if err != nil {
		fmt.Println(err)
		return
	}
	user := &flags.Subject{DistinctID: "user-61", Person: flags.Properties{"plan": "pro", "age": 36}}
	request := reader.For(context.Background(), user)
	ctx := flags.NewContext(context.Background(), request)

	fmt.Println(flags.FromContext(ctx).String("checkout-layout", "control"))
	type layout struct{ Columns int }
	fmt.Println(flags.Payload(request, "checkout-layout", layout{Columns: 1}))
	page, err := json.Marshal(request.Bootstrap())
	fmt.Println(string(page), err)
	// Output:
	// wide
	// {3}
	// {"distinctID":"user-61","featureFlags":{"beta-search":true,"checkout-layout":"wide"},"featureFlagPayloads":{"checkout-layout":{"columns":3}}} <nil>
}

// A hook that logs which reads returned the default, and why.
func ExampleWithHooks() {
	reader, err := flags.Static([]byte(exampleDefinitions))
	if err != nil {
		fmt.Println(err)
		return
	}
	reader = flags.WithHooks(reader, flags.Hook{After: func(_ context.Context, r *flags.Read) {
		if r.Detail.Err != nil {
			fmt.Printf("%s gave %v: %v\n", r.Key, r.Value, r.Detail.Err)
		}
	}})
	reader.Bool(context.Background(), "beta-serach", &flags.Subject{DistinctID: "user-61"}, true)
	// Output:
	// beta-serach gave true: flags: the project has no active flag with this key
}
