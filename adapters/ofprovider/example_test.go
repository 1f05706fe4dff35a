package ofprovider_test

import (
	"context"
	"fmt"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/bunting-flags/bunting/adapters/ofprovider"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// Flags of a file are evaluated in this process. For the definitions of a server, use NewRemote and
// a *remote.Client instead of New and the Decider.
func ExampleNew() {
	defs, err := flags.ParseDefinitions([]byte(`{"flags": [{"id": 1, "key": "new-checkout", "active": true, "filters": {
		"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}]}]}}]}`))
	if err != nil {
		panic(err)
	}
	decider, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_example", flags.Project{ID: 1}, defs)})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if err := openfeature.SetProviderWithContextAndWait(ctx, ofprovider.New(decider, "phc_example")); err != nil {
		panic(err)
	}
	defer func() { _ = openfeature.ShutdownWithContext(ctx) }()
	ana := openfeature.NewEvaluationContext("ana", map[string]any{"plan": "pro"})
	details, err := openfeature.NewDefaultClient().BooleanValueDetails(ctx, "new-checkout", false, ana)
	fmt.Println(details.Value, details.Reason, err)
	// Output: true TARGETING_MATCH <nil>
}
