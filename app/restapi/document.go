package restapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/web"
)

//go:embed openapi.json
var openAPI []byte

// document handles GET /api/v1/openapi.json, for anybody: it says nothing of this installation but its base path.
func document(c *gin.Context) error {
	text := openAPI
	if base := web.Base(c.Request); base != "" {
		url, err := json.Marshal(base)
		if err != nil {
			return err
		}
		text = bytes.Replace(text, []byte(`"url": "/"`), append([]byte(`"url": `), url...), 1)
	}
	c.Header("Cache-Control", "no-cache")
	c.Data(http.StatusOK, "application/json", text)
	return nil
}
