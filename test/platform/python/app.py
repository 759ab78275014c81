"""A platform that svc-updater serve updates (docs/any-backend.md). It needs only the standard library of Python."""
import hmac, http.client, json, os, secrets, sqlite3, sys, threading, time
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

VERSION, SECRET = os.environ["LARDER_VERSION"], os.environ.get("UPDATES_SECRET")
UPDATES, CALLBACKS, ROLES = "/api/v1/instance/update", "/updates-callbacks/", {"anna": "admin", "ben": "user"}
PAGE = f"""<!doctype html><title>larder</title><h1>larder {VERSION}</h1>
<script type="module">import {{ setTexts }} from "{UPDATES}/elements.js"; setTexts({{ product: "larder" }})</script>
<svc-update-notice ROLE version="{VERSION}"></svc-update-notice>"""
LOGIN = "".join(f'<form action="/login"><button name="name" value="{n}">Log in as {r}</button></form>' for n, r in ROLES.items())
db, lock = sqlite3.connect("/data/larder.db", check_same_thread=False, isolation_level=None), threading.Lock()

def sql(text, *values):
    with lock:
        return db.execute(text, values).fetchall()
def run_jobs():
    while True:
        sql("UPDATE job SET state = 'done' WHERE state = 'running' AND since + seconds < ?", time.time())
        sql("""UPDATE job SET state = 'running', since = ?1 WHERE rowid = (SELECT min(rowid) FROM job WHERE state = 'queued')
            AND NOT EXISTS (SELECT 1 FROM job WHERE state = 'running') AND (SELECT held_until FROM queue) < ?1""", time.time())
        time.sleep(0.1)

class Platform(BaseHTTPRequestHandler):
    def send(self, status, headers, chunks):
        self.send_response(status)
        for name in set(headers) - {"Connection", "Transfer-Encoding"}:
            self.send_header(name, headers[name])
        self.end_headers()
        self.wfile.writelines(chunks)
    def answer(self, status, body="", headers={}):
        text = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send(status, {"Content-Type": "text/html; charset=utf-8", **headers}, [text])
    def callback(self, request, user):
        if not SECRET or not hmac.compare_digest(self.headers.get("Authorization", "").encode(), f"Bearer {SECRET}".encode()):
            self.answer(403)
        elif request == "GET jobs":
            rows = sql("SELECT title, state, since * 1000 FROM job WHERE state != 'done'")
            self.answer(200, [dict(zip(("title", "state", "since"), row), kind="job") for row in rows])
        elif request in ("POST queue/hold", "POST queue/release"):
            self.answer(200, sql("UPDATE queue SET held_until = ?", 1e15 if request.endswith("hold") else 0))
        else:
            self.answer(200 if user else 401, {"name": user, "role": ROLES.get(user)})
    def forward(self):
        serve = http.client.HTTPConnection("updates", 8080, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        try:
            serve.request(self.command, self.path, self.rfile.read(int(self.headers.get("Content-Length", 0))) or None, headers)
            response = serve.getresponse()
        except OSError:
            return self.answer(503, "svc-updater is being replaced")
        self.send(response.status, response.headers, iter(lambda: response.read1(65536), b""))
    def do_GET(self):
        url, session = urlsplit(self.path), SimpleCookie(self.headers.get("Cookie", "")).get("session")
        values, users = dict(parse_qsl(url.query)), sql("SELECT name FROM session WHERE token = ?", session.value) if session else []
        user, token = users[0][0] if users else None, secrets.token_hex(16)
        if f"{url.path}/".startswith(f"{UPDATES}/"):
            self.forward()
        elif url.path.startswith(CALLBACKS):
            self.callback(f"{self.command} {url.path.removeprefix(CALLBACKS)}", user)
        elif url.path == "/login" and values.get("name") in ROLES:
            sql("INSERT INTO session VALUES (?, ?)", token, values["name"])
            self.answer(303, headers={"Location": "/", "Set-Cookie": f"session={token}; HttpOnly; SameSite=Strict"})
        elif url.path == "/jobs" and self.command == "POST" and user:
            self.answer(201, sql("INSERT INTO job VALUES (?, ?, 'queued', NULL)", values["title"], float(values["seconds"])))
        elif url.path == "/state":
            self.answer(200, [VERSION, sql("SELECT held_until FROM queue"), sql("SELECT * FROM migration"), sql("SELECT * FROM job")])
        else:
            self.answer(200, PAGE.replace("ROLE", ROLES[user].replace("user", "")) if user else LOGIN)
    do_POST = do_PUT = do_DELETE = do_GET
for table in "job (title, seconds, state, since)", "session (token, name)", "queue (held_until)", "migration (version UNIQUE)":
    sql(f"CREATE TABLE IF NOT EXISTS {table}")
sql("INSERT INTO queue SELECT ? WHERE NOT EXISTS (SELECT 1 FROM queue)", time.time() + 30)  # Until svc-updater sets it.
sql("UPDATE job SET state = 'queued' WHERE state = 'running'")  # Interrupted jobs run again.
sql("INSERT OR IGNORE INTO migration VALUES (?)", VERSION)  # Every release migrates the data.
if "LARDER_BROKEN" in os.environ:
    sys.exit(f"larder {VERSION} is broken")
threading.Thread(target=run_jobs, daemon=True).start()
ThreadingHTTPServer(("", 8080), Platform).serve_forever()
