package boot

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestForkKnowsWhatIsForNodes(t *testing.T) {
	f := &fork{proxy: teapot("proxy"), router: teapot("router")}
	for target, want := range map[string]string{
		"/erupt-api/menu": "proxy", "/erupt-api/": "proxy", "/erupt-api/a%2Fb": "proxy", "/erupt-attachment/x.png": "proxy",
		"/erupt-api": "router", "/erupt-apis/x": "router", "/erupt%2Dapi/menu": "router", "/console/": "router", "/": "router",
		"/erupt-cloud-api/register-node": "router",
	} {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		if got := w.Header().Get("By"); got != want {
			t.Errorf("%s goes to the %s, want the %s", target, got, want)
		}
	}
}

type teapot string

func (t teapot) ServeHTTP(w http.ResponseWriter, _ *http.Request) { w.Header().Set("By", string(t)) }
