package web_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
	"eruptcloud/app/web"
)

// FuzzDecodeJSON: whatever a client sends is taken as encoding/json takes it, or refused as the client's mistake; never
// anything between.
func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","count":1}`, `{"name":"a","NAME":"b"}`, `{"count":"x"}`, `{"count":1e400}`, `{"list":[{"k":[1,null]},"\ud800"]}`,
		"{\"name\":\"\xff\"}", `null`, ` [] `, `{"name":"a"} {}`, `{"name":"a"`, `{"":{"":{"":{}}}}`, "\ufeff{}", strings.Repeat("[", 200), "",
		`{"list":{"a":1,"a":2}}`, `{"naMe":null}`, "{\"n\u0061me\":\"\\u0000\"}", `{"list":` + strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat("}", 61),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		const limit = 1000
		type document struct {
			Name  string `json:"name"`
			Count int    `json:"count"`
			List  any    `json:"list"`
		}
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
		var got document
		err := web.DecodeJSON(c, &got, limit)
		if err != nil {
			var wrong *fault.Error
			if !errors.As(err, &wrong) || wrong.Code != fault.Invalid && wrong.Code != fault.TooLarge {
				t.Fatalf("%q is refused with %v, want the client's mistake", body, err)
			}
			if tooLarge := wrong.Code == fault.TooLarge; tooLarge != (len(body) > limit) {
				t.Fatalf("%d bytes are refused with %v", len(body), err)
			}
			return
		}
		var want document
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%q is accepted, but is no such document: %v", body, err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Fatalf("%q is read as %s, want %s", body, a, b)
		}
	})
}
