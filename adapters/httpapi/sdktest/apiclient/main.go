//go:build generated

// Command apiclient is an example of a user's program, with the client that oapi-codegen generates
// from the API description (../generated_test.go).
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/apiclient/api"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// as sends a key with each request.
func as(key string) api.ClientOption {
	return api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+key)
		return nil
	})
}

func run(ctx context.Context, url, key string) error {
	c, err := api.NewClientWithResponses(url, as(key))
	if err != nil {
		return err
	}
	made, err := c.PostApiProjectsProjectFeatureFlagsWithResponse(ctx, 1, api.PostApiProjectsProjectFeatureFlagsJSONRequestBody{
		Key: "go", Filters: &map[string]any{"groups": []any{map[string]any{"rollout_percentage": 100}}},
	})
	if err != nil || made.JSON201 == nil {
		return fmt.Errorf("making a flag: %w %s", err, made.Body)
	}
	order, limit := api.CreatedAtDescending, 1
	listed, err := c.GetApiProjectsProjectFeatureFlagsWithResponse(ctx, 1, &api.GetApiProjectsProjectFeatureFlagsParams{Order: &order, Limit: &limit})
	if err != nil || listed.JSON200 == nil {
		return fmt.Errorf("listing flags: %w %s", err, listed.Body)
	}
	fmt.Println("flags", listed.JSON200.Count, listed.JSON200.Results[0].Key, *listed.JSON200.Results[0].Id == *made.JSON201.Id)
	none, err := c.GetApiProjectsProjectFeatureFlagsIdWithResponse(ctx, 1, 999)
	if err != nil || none.JSON404 == nil {
		return fmt.Errorf("a flag that is not there: %w %s", err, none.Body)
	}
	fmt.Println("error", none.JSON404.Code)
	return evaluate(ctx, url)
}

// evaluate sends requests like an SDK.
func evaluate(ctx context.Context, url string) error {
	c, err := api.NewClientWithResponses(url, as("phc_1"))
	if err != nil {
		return err
	}
	v, who := 2, "u"
	flags, err := c.PostFlagsWithResponse(ctx, &api.PostFlagsParams{V: &v}, api.FlagsRequest{Token: "phc_1", DistinctId: &who})
	if err != nil || flags.JSON200 == nil {
		return fmt.Errorf("flags: %w %s", err, flags.Body)
	}
	fmt.Println("enabled", (*flags.JSON200.Flags)["go"].Enabled)
	one, err := c.PostOfrepV1EvaluateFlagsKeyWithResponse(ctx, "go", api.OFREPRequest{Context: api.OFREPRequest_Context{TargetingKey: who}})
	if err != nil || one.JSON200 == nil {
		return fmt.Errorf("OFREP: %w %s", err, one.Body)
	}
	fmt.Println("value", one.JSON200.Value, strings.ToLower(*one.JSON200.Reason))
	var body api.CaptureBody
	key, id := "phc_1", any(who)
	if err := body.FromCaptureBatch(api.CaptureBatch{ApiKey: &key, Batch: []api.CaptureEvent{{Event: "generated", DistinctId: &id}}}); err != nil {
		return err
	}
	taken, err := c.PostBatchWithResponse(ctx, &api.PostBatchParams{}, body)
	if err != nil || taken.JSON200 == nil {
		return fmt.Errorf("capture: %w %s", err, taken.Body)
	}
	fmt.Println("captured", taken.JSON200.Status)
	return nil
}
