package surveys

import (
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// show returns a survey as the API returns it. The order of FlagKeys is used by Public.
func (s Service) show(v *view, x *storedSurvey) (_ *Survey, err error) {
	out := &Survey{surveySettings: x.surveySettings, Access: v.AccessTo(x.accessObject())}
	out.Questions = definitions.JSONOr(x.Questions, "[]")
	// The current iteration depends on the time of the request.
	out.IterationStarts, out.Iteration, out.IterationStart = x.iterations(s.Env.Now())
	if out.CreatedBy, err = v.Author(x.CreatedBy); err != nil {
		return nil, err
	}
	// The order of these rows is the order of FlagKeys.
	for _, f := range []struct {
		name string
		id   int64
		to   *json.RawMessage
	}{
		{"linked_flag_key", plain.OrZero(x.LinkedFlagID), &out.LinkedFlag},
		{"targeting_flag_key", plain.OrZero(x.TargetingID), &out.Targeting},
		{"internal_targeting_flag_key", x.InternalTargeting, &out.Internal},
	} {
		if *f.to, _, err = storedflags.LoadMinimal(v, f.id); err != nil {
			return nil, err
		}
		pair := surveyFlagKey{Key: f.name}
		if key := management.JSONText(management.JSONObject(*f.to)["key"]); key != "" {
			pair.Value = &key
		}
		out.FlagKeys = append(out.FlagKeys, pair)
	}
	return out, nil
}
