package nodeapi

import (
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
	"eruptcloud/app/web"
)

// A node asks about users several times for each request that it works on, so what is answered is not limited. What is refused is,
// by address (erupt-wire 10.1): beyond the limit, nothing is looked up that memory cannot tell to be genuine, and no line is logged.
// Nodes with handles of ours go on being answered, whoever else stands behind their address.

// failures are the errors that count: those of the asker.
var failures = []fault.Code{fault.Unauthenticated, fault.Forbidden, fault.NotFound, fault.Invalid}

// unproven refuses to look up what may be a guess when its address has guessed too often.
func (a *API) unproven(c *gin.Context) error {
	if a.failing.Spent(web.LimitKey(web.ClientIP(c.Request))) {
		return web.TooFast(time.Second)
	}
	return nil
}

// unanswered counts and notes why a question is not answered. The answer is the harmless one in any case.
func (a *API) unanswered(c *gin.Context, call string, err error) {
	code := fault.CodeOf(err)
	if slices.Contains(failures, code) {
		if ok, _ := a.failing.Allow(web.LimitKey(web.ClientIP(c.Request))); !ok {
			code = fault.TooMany
		}
	}
	a.metrics.refused.WithLabelValues(call, string(code)).Inc()
	if code != fault.TooMany {
		a.shell.Note(c.Request, err)
	}
}
