// Command ownstore evaluates flags with a service's own store of definitions and person properties.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// company is the service's own store.
type company struct {
	definitions map[string]string           // by project key, in the format of PostHog's API
	people      map[string]flags.Properties // by distinct id
}

// setup

func (c company) ProjectByKey(_ context.Context, apiKey string) (flags.Project, error) {
	if _, ok := c.definitions[apiKey]; !ok {
		return flags.Project{}, flags.ErrUnknownKey
	}
	return flags.Project{ID: 1, APIKey: apiKey}, nil
}

func (c company) Definitions(_ context.Context, p flags.Project) (flags.Definitions, error) {
	return flags.ParseDefinitions([]byte(c.definitions[p.APIKey]))
}

func (c company) Stored(_ context.Context, q serving.Query) (*flags.Stored, error) {
	return &flags.Stored{Person: c.people[q.DistinctID]}, nil
}

// end of setup

func main() {
	ours := company{
		definitions: map[string]string{"phc_example": `{"flags": [{"id": 1, "key": "discount", "active": true, "filters": {
			"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}]}}]}`},
		people: map[string]flags.Properties{"ana": {"plan": "pro"}},
	}
	reader, err := ours.reader("phc_example")
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"ana", "bob"} {
		fmt.Println(id, reader.Bool(context.Background(), "discount", &flags.Subject{DistinctID: id}, false))
	}
}

// reader returns a reader of a project's flags. httpapi.New can serve the same Decider to SDKs.
func (c company) reader(apiKey string) (flags.Reader, error) {
	decider, err := serving.NewDecider(serving.Config{Source: c, People: c}) // setup
	if err != nil {
		return nil, err
	}
	return decider.Reader(apiKey, flags.Selection{}), nil
}
