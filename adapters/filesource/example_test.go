package filesource_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// Flags of a file are evaluated in this process; changes of the file are applied.
func ExampleOpen() {
	folder, err := os.MkdirTemp("", "filesource")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "flags.json")
	err = os.WriteFile(path, []byte(`{"projects": [{"id": 1, "api_key": "phc_example", "flags": [
		{"id": 1, "key": "new-checkout", "active": true, "filters": {"groups": [{"rollout_percentage": 100}]}}]}]}`), 0o600)
	if err != nil {
		log.Fatal(err)
	}

	source, err := filesource.Open(filesource.Config{Files: []string{path}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	decider, err := serving.NewDecider(serving.Config{Source: source})
	if err != nil {
		log.Fatal(err)
	}
	var answer serving.Answer
	request := serving.Request{APIKey: "phc_example", Subject: flags.Subject{DistinctID: "ana"}}
	if err := decider.Decide(context.Background(), &request, &answer); err != nil {
		log.Fatal(err)
	}
	for _, d := range answer.Decisions.List {
		fmt.Println(d.Key, d.Enabled)
	}
	// Output: new-checkout true
}

// Load reads a file a single time, for a tool or a test.
func ExampleLoad() {
	file, err := filesource.Load("../../testdata/demo.json", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.Projects[0].Project.APIKey)
	// Output: phc_demo
}
