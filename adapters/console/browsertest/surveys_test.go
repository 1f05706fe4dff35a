package browsertest

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"testing"
)

// public decodes the response to a GET request without credentials.
func (s *server) public(path string, answer any) {
	s.t.Helper()
	res, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		s.t.Fatalf("%s: %s %v", path, text, err)
	}
}

// Early access (console.md §2.3; management.md §5.5): a feature is created with its flag, users can
// enroll when its stage allows it, and its link may only lead to web pages.
func TestEarlyAccess(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/early-access")
	p.expect("400 POST /api/projects/1/early_access_feature/")
	p.node("heading", "No features yet")
	p.accessible()
	p.click("button", "New feature")
	p.node("heading", "New feature")
	p.click("button", "Save")
	eventually(t, "a fault of the name", func() bool { return js[bool](p, "!!document.querySelector('[aria-invalid=true]')") })
	p.fill("New menu", "textbox", "Name")
	p.fill("javascript:alert(1)", "textbox", "Documentation")
	p.click("button", "Save")
	eventually(t, "a fault of the link", func() bool {
		return js[bool](p, "document.activeElement.value === 'javascript:alert(1)' && document.querySelector('.fault')?.innerText === 'Enter a valid URL.'")
	})
	p.accessible()
	p.fill("https://example.com/menu", "textbox", "Documentation")
	p.fill("nothing", "combobox", "Flag")
	p.click("button", "Save")
	p.node("alert", "")
	p.fill("", "combobox", "Flag")
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	p.node("heading", "New menu")
	p.node("link", "new-menu")
	p.node("link", "Documentation")
	var got struct {
		Features []struct{ FlagKey string } `json:"earlyAccessFeatures"`
	}
	list := func() int {
		s.public("/api/early_access_features/?stage=beta&token="+s.publicKey, &got)
		return len(got.Features)
	}
	if list() != 0 {
		t.Errorf("a draft is seen: %+v", got)
	}
	p.choose("Beta", "combobox", "Stage")
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	eventually(t, "people can enroll", func() bool { return list() == 1 && got.Features[0].FlagKey == "new-menu" })
	p.click("link", "Early access")
	p.node("table", "Early access", "cell", "Beta")
	p.accessible()
	p.click("table", "Early access", "link", "New menu")
	p.click("button", "Delete feature")
	p.click("alertdialog", "Delete New menu?", "button", "Delete")
	p.waitAnnounced("Deleted New menu")
	p.node("heading", "No features yet")
}

// Surveys (console.md §2.3; management.md §5.6): questions and conditions in fields, other settings
// as JSON that is checked while it is typed; a survey is launched, stopped and resumed, as SDKs see
// it.
func TestSurveys(t *testing.T) {
	s := serve(t)
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "menu"}, nil)
	p := s.open(t, "p/1/surveys")
	p.expect("400 POST /api/projects/1/surveys/")
	p.node("heading", "No surveys yet")
	p.accessible()
	p.click("button", "New survey")
	p.node("heading", "New survey")
	p.fill("Menu", "textbox", "Name")
	p.fill(`{"responses_limit": 5`, "textbox", "More settings")
	eventually(t, "a fault of the JSON", func() bool {
		return js[bool](p, "document.querySelector('.fault')?.innerText.startsWith('Invalid JSON: ')")
	})
	p.fill(`{"responses_limits": 5}`, "textbox", "More settings")
	p.click("button", "Save")
	eventually(t, "a setting that there is not", func() bool {
		return js[bool](p, "document.querySelector('.fault')?.innerText === 'There is no setting responses_limits.'")
	})
	p.fill(`{"responses_limit": 5}`, "textbox", "More settings")
	p.click("button", "Save")
	eventually(t, "the server's fault at the field of the question", func() bool {
		return js[bool](p, "document.activeElement.closest('[role=group]')?.ariaLabel === 'Question 1' && document.activeElement.getAttribute('aria-invalid') === 'true'")
	})
	p.accessible()
	surveyQuestions(p)
	surveyConditions(p)
	p.fill("menu", "combobox", "Only with flag")
	p.enter()
	p.accessible()
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	p.node("heading", "Menu")
	p.accessible()
	checkSurvey(s, `{"questions": [
			{"type": "open", "question": "What is missing?"},
			{"type": "multiple_choice", "question": "What matters?", "choices": ["Speed", "Price"]},
			{"type": "rating", "question": "How do you like it?", "display": "number", "scale": 10, "branching": {"type": "response_based", "responseValues": {"detractors": 0, "promoters": "end"}}}],
		"conditions": {"url": "/prices", "urlMatchType": "exact", "deviceTypes": ["Mobile"], "deviceTypesMatchType": "exact", "seenSurveyWaitPeriodInDays": 7, "events": {"values": [{"name": "order placed"}], "repeatedActivation": true}},
		"targeting_flag": {"filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}], "rollout_percentage": 100}]}}}`)
	p.click("group", "Condition 1", "button", "Remove condition")
	p.click("checkbox", "Mobile")
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	eventually(t, "a survey for everyone", func() bool {
		var got struct {
			Results []struct {
				Targeting  any `json:"targeting_flag"`
				Conditions map[string]any
			}
		}
		s.api("GET", "/api/projects/1/surveys/", nil, &got)
		return got.Results[0].Targeting == nil && got.Results[0].Conditions["deviceTypes"] == nil && got.Results[0].Conditions["url"] == "/prices"
	})
	surveyLife(s, p)
}

// surveyQuestions fills in three questions; the last two are moved, and a branch follows the first
// one.
func surveyQuestions(p *page) {
	p.t.Helper()
	p.fill("What is missing?", "group", "Question 1", "textbox", "Question")
	p.click("button", "Add question")
	p.fill("How do you like it?", "group", "Question 2", "textbox", "Question")
	p.choose("Rating", "group", "Question 2", "combobox", "Type")
	p.choose("0 to 10", "group", "Question 2", "combobox", "Scale")
	p.choose("Depends on the answer", "group", "Question 2", "combobox", "After this question")
	p.choose("Question 1: What is missing?", "group", "Question 2", "combobox", "After “0 to 6”")
	p.choose("The end of the survey", "group", "Question 2", "combobox", "After “9 and 10”")
	p.click("button", "Add question")
	p.fill("What matters?", "group", "Question 3", "textbox", "Question")
	p.choose("Several choices", "group", "Question 3", "combobox", "Type")
	p.fill("Speed\n\nPrice", "group", "Question 3", "textbox", "Choices, one a line")
	p.choose("Question 2: How do you like it?", "group", "Question 3", "combobox", "After this question")
	p.choose("The next question", "group", "Question 3", "combobox", "After this question")
	p.click("group", "Question 3", "button", "Move up")
	p.click("button", "Add question")
	p.node("group", "Question 4")
	p.click("group", "Question 4", "button", "Remove question")
	p.waitRemoved("group", "Question 4")
}

// surveyConditions fills in where, when and for which users the survey is displayed.
func surveyConditions(p *page) {
	p.t.Helper()
	p.fill("/prices", "textbox", "Address of the page")
	p.choose("is", "combobox", "How the address is compared")
	p.click("checkbox", "Mobile")
	p.fill("7", "spinbutton", "Days since another survey")
	p.fill("order placed\n", "textbox", "Events that show it, one a line")
	p.click("checkbox", "Again at each of these events")
	p.click("button", "Add condition")
	p.click("group", "Condition 1", "button", "Add filter")
	p.fill("plan", "group", "Filter 1", "combobox", "Property")
	p.enter()
	p.fill("pro", "group", "Filter 1", "combobox", "Value")
	p.enter()
	p.node("group", "Filter 1", "button", "Remove pro")
}

// checkSurvey compares the only survey of the project with JSON, without the ids of its questions.
func checkSurvey(s *server, want string) {
	s.t.Helper()
	type survey struct {
		Questions  []map[string]any
		Conditions map[string]any
		Targeting  struct {
			Filters struct {
				Groups []map[string]any
			}
		} `json:"targeting_flag"`
	}
	var got struct{ Results []survey }
	s.api("GET", "/api/projects/1/surveys/", nil, &got)
	for _, q := range got.Results[0].Questions {
		delete(q, "id")
	}
	var expected survey
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		s.t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Results[0], expected) {
		s.t.Errorf("the survey is\n%+v, want\n%+v", got.Results[0], expected)
	}
}

// Answers (console.md §2.3): the last part of each submission counts; a summary of each question, and
// each answer with its person.
func TestSurveys_Answers(t *testing.T) {
	s := serve(t)
	var made struct {
		ID        string
		Questions []struct{ ID string }
	}
	s.api("POST", "/api/projects/1/surveys/", map[string]any{"name": "Menu", "type": "popover", "start_date": "2026-01-01T00:00:00Z", "questions": []any{
		map[string]any{"type": "rating", "question": "How do you like it?", "scale": 10, "display": "number"},
		map[string]any{"type": "multiple_choice", "question": "What matters?", "choices": []string{"Speed", "Price"}},
		map[string]any{"type": "open", "question": "What is missing?"},
	}}, &made)
	p := s.open(t, "p/1/surveys/"+made.ID)
	p.click("navigation", "Survey", "link", "Answers")
	p.node("heading", "No answers yet")
	p.accessible()
	answer := func(person, submission string, values ...any) map[string]any {
		properties := map[string]any{"$survey_id": made.ID, "$survey_submission_id": submission, "$survey_completed": len(values) == 3}
		for i, v := range values {
			properties["$survey_response_"+made.Questions[i].ID] = v
		}
		return map[string]any{"event": "survey sent", "distinct_id": person, "properties": properties}
	}
	old := map[string]any{"event": "survey sent", "distinct_id": "cyd", "properties": map[string]any{"$survey_id": made.ID, "$survey_response": 8, "$survey_response_1": []string{"Speed"}}}
	display := map[string]any{"event": "survey shown", "distinct_id": "ana", "properties": map[string]any{"$survey_id": made.ID}}
	s.capture(display, display, display, display, answer("ana", "one", 9), answer("ben", "two", 3))
	s.capture(answer("ana", "one", 9, []string{"Speed", "Price"}, "<b>dessert</b>"), old)
	p.visit("p/1/surveys/" + made.ID + "/answers")
	// Ratings 9, 3 and 8: the average is 20/3; one promoter and one detractor of three are a score of 0.
	p.node("region", "How do you like it?", "StaticText", "3 of 3 answered, Average 6.67, Net promoter score 0")
	p.waitRow(`[aria-label="What matters?"]`, "Speed 2 100 %")
	p.waitRow(`[aria-label="What matters?"]`, "Price 1 50 %")
	p.node("list", "Answers to What is missing?", "StaticText", "<b>dessert</b>")
	p.node("table", "Each answer", "link", "ana")
	p.node("main", "", "StaticText", "3 answers, 1 incomplete, shown 4 times, dismissed 0 times, response rate 75 %")
	p.accessible()
	p.click("table", "Each answer", "link", "ben")
	p.node("navigation", "Person")
}

// surveyLife launches, changes, stops and deletes the survey.
func surveyLife(s *server, p *page) {
	t := s.t
	t.Helper()
	var state struct {
		Surveys []struct {
			Flag      *string `json:"linked_flag_key"`
			End       *string `json:"end_date"`
			Questions []struct{ Question string }
		}
	}
	whileVisible := func(is func() bool) func() bool {
		return func() bool { s.public("/api/surveys/?token="+s.publicKey, &state); return is() }
	}
	p.click("button", "Launch")
	p.click("dialog", "Launch Menu?", "button", "Launch")
	p.waitAnnounced("Launched")
	eventually(t, "SDKs see the survey", whileVisible(func() bool {
		return len(state.Surveys) == 1 && state.Surveys[0].Flag != nil && *state.Surveys[0].Flag == "menu" && state.Surveys[0].Questions[0].Question == "What is missing?"
	}))
	p.click("button", "Stop")
	p.click("dialog", "Stop Menu?", "button", "Stop")
	p.waitAnnounced("Stopped")
	p.click("button", "Resume")
	p.waitAnnounced("Resumed")
	p.fill("", "combobox", "Only with flag")
	p.fill("", "textbox", "More settings")
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	var got struct {
		Results []struct {
			Limit *int `json:"responses_limit"`
			Flag  any  `json:"linked_flag"`
			End   any  `json:"end_date"`
		}
	}
	s.api("GET", "/api/projects/1/surveys/", nil, &got)
	if r := got.Results[0]; r.Limit != nil || r.Flag != nil || r.End != nil {
		t.Errorf("the survey is %+v, want no limit, no flag, no end", r)
	}
	p.click("link", "Surveys")
	p.node("table", "Surveys", "cell", "Running")
	p.accessible()
	p.click("table", "Surveys", "link", "Menu")
	p.click("button", "Delete survey")
	p.click("alertdialog", "Delete Menu?", "button", "Delete")
	p.waitAnnounced("Deleted Menu")
}
