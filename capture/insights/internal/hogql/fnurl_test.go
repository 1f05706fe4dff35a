package hogql

import "testing"

// Functions for URLs in §2.9.8 accept any text, and are empty where there is nothing.
func TestURL_Parts(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"domain", "domain('https://site.com/a?b=1#c')", `"site.com"`},
		{"domain without the port", "domain('http://site.com:8080/a')", `"site.com"`},
		{"domain without the user", "domain('https://user:secret@site.com/')", `"site.com"`},
		{"domain without a path", "domain('https://site.com')", `"site.com"`},
		{"domain before a query", "domain('https://site.com?a=b')", `"site.com"`},
		{"domain before a fragment", "domain('https://site.com#a')", `"site.com"`},
		{"domain without a scheme", "domain('site.com/a')", `"site.com"`},
		{"domain after two slashes", "domain('//site.com/a')", `"site.com"`},
		{"domain of an address", "domain('http://10.0.0.1:80/')", `"10.0.0.1"`},
		{"a path has no domain", "domain('/a/b')", `""`},
		{"a word has no domain", "domain('hello')", `""`},
		{"the empty text has none", "domain('')", `""`},
		{"another scheme", "domain('ftp://files.example')", `"files.example"`},
		{"a URL in the query is not the URL", "domain('https://a.com/?to=https://b.com')", `"a.com"`},
		{"domainWithoutWWW", "domainWithoutWWW('https://www.site.com/')", `"site.com"`},
		{"only the first www.", "domainWithoutWWW('https://www.www.site.com/')", `"www.site.com"`},
		{"a name that begins alike", "domainWithoutWWW('https://wwwsite.com/')", `"wwwsite.com"`},
		{"path", "path('https://site.com/a/b?c=1#d')", `"/a/b"`},
		{"path before a fragment", "path('https://site.com/a#b?c')", `"/a"`},
		{"path of the root", "path('https://site.com/')", `"/"`},
		{"no path", "path('https://site.com')", `""`},
		{"no path before a query", "path('https://site.com?a=b')", `""`},
		{"protocol", "protocol('https://site.com')", `"https"`},
		{"no protocol", "protocol('site.com/a')", `""`},
		{"the protocol of a URL in the query is none", "protocol('/a?to=https://b.com')", `""`},
		{"cutQueryString", "cutQueryString('https://a.b/c?d=1')", `"https://a.b/c"`},
		{"cutQueryString keeps the fragment", "cutQueryString('https://a.b/c?d=1#e')", `"https://a.b/c#e"`},
		{"a question mark in the fragment is no query", "cutQueryString('https://a.b/c#d?e')", `"https://a.b/c#d?e"`},
		{"no query to cut", "cutQueryString('https://a.b/c')", `"https://a.b/c"`},
		{"extractURLParameter", "extractURLParameter('https://a.b/?x=1&y=2', 'y')", `"2"`},
		{"the first of two", "extractURLParameter('https://a.b/?x=1&x=2', 'x')", `"1"`},
		{"a name that ends alike", "extractURLParameter('https://a.b/?xy=1', 'y')", `""`},
		{"a parameter in the fragment is none", "extractURLParameter('https://a.b/#?x=1', 'x')", `""`},
		{"without a value", "extractURLParameter('https://a.b/?x', 'x')", `""`},
		{"an empty value", "extractURLParameter('https://a.b/?x=&y=1', 'x')", `""`},
		{"a value with an equals sign", "extractURLParameter('https://a.b/?x=1=2', 'x')", `"1=2"`},
		{"missing", "extractURLParameter('https://a.b/', 'x')", `""`},
		{"null", "domain(NULL)", "null"},
		{"a null name", "extractURLParameter('https://a.b/?x=1', NULL)", "null"},
	})
	checkProperties(t, Context{}, map[string]string{"url": `"https://app.site.com/a"`, "n": "12.5"}, []expressionRow{
		{"of a property", "domain(properties.url)", `"app.site.com"`},
		{"of a missing property", "path(properties.none)", "null"},
	})
}
