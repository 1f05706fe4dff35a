package batchexports

import (
	"context"
	"errors"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// exportStepField is the index of the step to perform.
var exportStepField = management.Field{Name: "step", Type: management.Int, MaxValue: 100, Help: "index of the step of the test, from 0"}

// testFields are the fields of a test: those of an export, and the step.
var testFields = append(append(management.Fields{}, exportFields...), exportStepField)

// ExportTest is a step of a test with its result.
type ExportTest struct {
	TestStep
	Result *exportTestResult `json:"result"` // null if the step was not performed
}

// exportTestResult is the result of a step.
type exportTestResult struct {
	Status  string  `json:"status"` // Passed or Failed
	Message *string `json:"message"`
}

// ExportTests are the steps of a test.
type ExportTests struct {
	Steps []ExportTest `json:"steps"`
}

// Tests returns the steps of the test of a type of destination (§4.3.7), or nil for an unknown
// type.
func (s Service) Tests(destinationType string) *ExportTests {
	if _, ok := destinationKeys[destinationType]; !ok || s.Runner == nil {
		return nil
	}
	out := &ExportTests{Steps: []ExportTest{}}
	for _, step := range s.Runner.Steps(destinationType) {
		out.Steps = append(out.Steps, ExportTest{TestStep: step})
	}
	return out
}

// TestNew performs a step of the test of an export that does not exist yet.
func (s Service) TestNew(ctx context.Context, b management.Body) (*ExportTest, error) {
	e := newExport()
	v, err := exportFields.Create(b)
	if err != nil {
		return nil, err
	}
	return s.test(ctx, e, v, b)
}

// Test performs a step of the test of an export with the changes of the body. It does not store the
// changes.
func (s Service) Test(ctx context.Context, scope *management.Scope, id string, b management.Body) (*ExportTest, error) {
	e, err := s.export(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	v, err := exportFields.Change(b)
	if err != nil {
		return nil, err
	}
	return s.test(ctx, e, v, b)
}

// test applies the values of a body to e and performs the step that the body selects.
func (s Service) test(ctx context.Context, e *exportRecord, v management.Values, b management.Body) (*ExportTest, error) {
	resource.Apply(exportFields, v, e)
	if err := e.set(v); err != nil {
		return nil, err
	}
	v, err := management.Fields{exportStepField}.Change(b)
	if err != nil {
		return nil, err
	}
	if s.Runner == nil {
		return nil, errNoExports()
	}
	steps, step := s.Runner.Steps(e.Destination.Type), int(v.Int("step"))
	if len(steps) == 0 {
		return nil, destinationFault("There is no test for destinations of type %s.", e.Destination.Type)
	}
	if step >= len(steps) {
		return nil, management.Fault("step", "The test has %d steps; the index of the first is 0.", len(steps))
	}
	out := &ExportTest{TestStep: steps[step], Result: &exportTestResult{Status: "Passed"}}
	fail := func(message string) (*ExportTest, error) {
		out.Result = &exportTestResult{"Failed", &message}
		return out, nil
	}
	if !e.Destination.configured() {
		return fail("The test step cannot run as it's not configured.")
	}
	err = s.Runner.Test(ctx, e.Destination, step)
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return fail("The test step failed with an unknown error: it took too long.")
	}
	return fail(cutText(e.Destination.redact(err.Error()), maxExportError))
}
