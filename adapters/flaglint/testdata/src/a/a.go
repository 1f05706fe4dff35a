package a

import (
	"context"

	"github.com/bunting-flags/bunting/flags"
	"github.com/open-feature/go-sdk/openfeature"
	"github.com/posthog/posthog-go"
)

const (
	there  = "layout"
	prefix = "lay"
)

type buffer struct{}

func (buffer) Bool(ctx context.Context, text string) bool { return text == "" }

func reads(ctx context.Context, r flags.Reader, c *openfeature.Client, name string) {
	r.Bool(ctx, "layout", nil, false)
	r.Bool(ctx, there, nil, false)
	r.Bool(ctx, prefix+"out", nil, false)
	r.Bool(ctx, name, nil, false) // what is not constant is not known
	buffer{}.Bool(ctx, "no flag")

	r.Bool(ctx, "layuot", nil, false)                                   // want `there is no flag "layuot"`
	r.Bool(context.TODO(), prefix+"er", nil, false)                     // want `there is no flag "layer"`
	_, _ = r.StringDetail(ctx, "gone", nil, "")                         // want `there is no flag "gone"`
	flags.JSON(ctx, r, "sizes", nil, 0)                                 // want `there is no flag "sizes"`
	flags.JSON[int](ctx, r, "more-sizes", nil, 0)                       // want `there is no flag "more-sizes"`
	_, _ = c.IntValueDetails(ctx, "price", 1)                           // want `there is no flag "price"`
	posthog.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: "layout"}) // there is
	posthog.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: "old"})    // want `there is no flag "old"`
}
