// Command openfeature reads flags of a file through OpenFeature's API.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/adapters/ofprovider"
	"github.com/bunting-flags/bunting/flags/serving"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: openfeature FILE PROJECT-KEY FLAG")
	}
	value, reason, err := read(context.Background(), os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(os.Args[3], value, reason)
}

func read(ctx context.Context, file, projectKey, flag string) (bool, openfeature.Reason, error) {
	// setup
	source, err := filesource.Open(filesource.Config{Files: []string{file}, APIKey: projectKey}) // the file is watched for changes
	if err != nil {
		return false, "", err
	}
	defer func() { _ = source.Close() }()
	decider, err := serving.NewDecider(serving.Config{Source: source})
	if err != nil {
		return false, "", err
	}
	if err := openfeature.SetProviderWithContextAndWait(ctx, ofprovider.New(decider, projectKey)); err != nil {
		return false, "", err
	}
	defer func() { _ = openfeature.ShutdownWithContext(ctx) }()
	// end of setup
	ana := openfeature.NewEvaluationContext("ana", map[string]any{"plan": "pro"})
	details, err := openfeature.NewDefaultClient().BooleanValueDetails(ctx, flag, false, ana)
	return details.Value, details.Reason, err
}
