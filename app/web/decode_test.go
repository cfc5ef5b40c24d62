package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

func TestDecodeJSON(t *testing.T) {
	tests := map[string]struct {
		body, want string // message, empty: accepted
		status     int
	}{
		"good":             {`{"name":"a","count":1}`, "", 200},
		"syntax":           {"{\n  \"name\": \"a\",\n  oops\n}", "line 3, column 3: 'o' where a key in double quotes is expected", 400},
		"unknown field":    {"{\"name\":\"a\",\n\"nmae\":\"b\"}", `unknown field "nmae"`, 400},
		"wrong type":       {`{"count":"x"}`, "a string where a number is expected", 400},
		"ends early":       {`{"name":"a"`, "ends early", 400},
		"text after it":    {`{"name":"a"} {}`, "text after the JSON document", 400},
		"nothing":          {"  ", "no body", 400},
		"too large":        {`{"name":"` + strings.Repeat("a", 200) + `"}`, "larger than 100 bytes", 413},
		"array for object": {`[]`, "an array where an object is expected", 400},
		"null":             {" null ", "the document is null", 400},
		"a key twice":      {"{\"name\":\"a\",\n\"name\":\"b\"}", `line 2, column 6: the key "name" is there twice`, 400},
		"in another case":  {`{"name":"a","NAME":"b"}`, `the key "NAME" is there twice`, 400},
		"no UTF-8":         {"{\"name\":\"\xff\"}", "not UTF-8", 400},
		"a long unknown":   {`{"` + strings.Repeat("k", 90) + `":1}`, `unknown field "` + strings.Repeat("k", 64) + `…"`, 400},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newShell(t)
			f.Engine().POST("/api/v1/x", f.Handle(func(c *gin.Context) error {
				var v struct {
					Name  string `json:"name"`
					Count int    `json:"count"`
				}
				return web.DecodeJSON(c, &v, 100)
			}))
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/api/v1/x", strings.NewReader(tt.body))
			f.Handler().ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(strings.ReplaceAll(w.Body.String(), `\"`, `"`), tt.want) {
				t.Errorf("%s answered %d %s, want %d with %q", tt.body, w.Code, w.Body, tt.status, tt.want)
			}
		})
	}
}

func TestSyntaxErrorsOfBodiesSpeakChinese(t *testing.T) {
	for _, f := range fault.JSONFormats {
		f = "line %d, column %d: " + f
		if zh := views.Translate("zh", f); zh == f {
			t.Errorf("%q has no Chinese text", f)
		}
	}
}

func TestCheckJSON(t *testing.T) {
	for body, ok := range map[string]bool{
		`{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}],"d":"a"}`: true,
		`[{"a":1},"a","a",{"a":[]}]`:                        true,
		`{"a":{"b":1,"c":2,"b":3}}`:                         false,
		`[1,{"a":[],"a":[]}]`:                               false,
		`{"a":"x","A":"y"}`:                                 false,
		"\"\xc3\x28\"":                                      false,
		`{"a":`:                                             true, // whoever decodes it says what is wrong
		`{"a":1}}`:                                          true,
		strings.Repeat("[", 100_000):                        true,
	} {
		if err := web.CheckJSON([]byte(body)); (err == nil) != ok {
			t.Errorf("CheckJSON(%.60s) = %v, want ok %v", body, err, ok)
		}
	}
}

func TestPageOf(t *testing.T) {
	tests := map[string]struct {
		page, size int
		ok         bool
	}{
		"":                           {1, 20, true},
		"?page=3&pageSize=500":       {3, 500, true},
		"?page=0":                    {0, 0, false},
		"?page=-1":                   {0, 0, false},
		"?page=x":                    {0, 0, false},
		"?page=":                     {0, 0, false},
		"?pageSize=501":              {0, 0, false},
		"?pageSize=0":                {0, 0, false},
		"?page=99999999999999999999": {0, 0, false},
		"?page=1.5":                  {0, 0, false},
	}
	for query, want := range tests {
		f := newShell(t)
		var page, size int
		f.Engine().GET("/api/v1/x", f.Handle(func(c *gin.Context) (err error) {
			page, size, err = web.PageOf(c)
			return err
		}))
		w := f.do("GET", "/api/v1/x"+query)
		if page != want.page || size != want.size || (w.Code == 200) != want.ok {
			t.Errorf("%q gave page %d, size %d, status %d; want %+v", query, page, size, w.Code, want)
		}
	}
}
