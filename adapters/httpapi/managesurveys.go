package httpapi

// surveyEndpoints are those of surveys.
var surveyEndpoints = []endpoint{}
