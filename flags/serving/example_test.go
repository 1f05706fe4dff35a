package serving_test

import (
	"context"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
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

// A Decider answers requests by API key. It reads definitions from a Source and stored
// properties from People.
func ExampleNewDecider() {
	d, err := flags.ParseDefinitions([]byte(exampleDefinitions))
	if err != nil {
		fmt.Println(err)
		return
	}
	people := &serving.Memory{}
	people.AddPerson(1, time.Now(), flags.Properties{"plan": "team"}, nil, "user-61")
	decider, err := serving.NewDecider(serving.Config{
		Source: serving.StaticSource("phc_demo", flags.Project{ID: 1, Name: "demo"}, d),
		People: people,
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	request := &serving.Request{APIKey: "phc_demo", Subject: flags.Subject{DistinctID: "user-61"}}
	var answer serving.Answer
	if err := decider.Decide(context.Background(), request, &answer); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("beta-search:", answer.Decisions.Find("beta-search").Enabled)
	fmt.Println("checkout-layout:", answer.Decisions.Find("checkout-layout").Enabled)
	// Output:
	// beta-search: true
	// checkout-layout: false
}

// The flags of a project in this process, evaluated like on a server.
func ExampleDecider_Reader() {
	d, err := flags.ParseDefinitions([]byte(exampleDefinitions))
	if err != nil {
		fmt.Println(err)
		return
	}
	decider, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_demo", flags.Project{ID: 1}, d)})
	if err != nil {
		fmt.Println(err)
		return
	}
	reader := decider.Reader("phc_demo", flags.Selection{})
	fmt.Println(reader.Bool(context.Background(), "beta-search", &flags.Subject{DistinctID: "user-61", Person: flags.Properties{"plan": "pro"}}, false))
	// Output:
	// true
}
