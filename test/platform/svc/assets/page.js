// Requests the rows of the Jobs page every second while the page is visible.
const body = document.getElementById('jobs');
const queue = document.getElementById('queue');

if (body) {
  setInterval(() => {
    if (!document.hidden) show();
  }, 1000);
  show();
}

async function show() {
  // svc is unavailable: keep the current rows.
  const answer = await fetch('/api/v1/jobs').catch(() => null);
  if (!answer?.ok) return;
  const { jobs, held, now } = await answer.json();
  queue.textContent = held
    ? 'The queue is on hold during an update. Queued jobs run afterwards.'
    : 'One job runs at a time.';
  body.replaceChildren(...jobs.map((job) => row(job, Date.parse(now))));
  if (jobs.length === 0) body.append(element('tr', 'No jobs yet.', 'quiet'));
}

function row({ id, title, kind, state, stuck, started_at: from, ended_at: to }, now) {
  const hangs = stuck && state === 'running';
  const took =
    from === null ? '–' : `${Math.round(((to === null ? now : Date.parse(to)) - Date.parse(from)) / 1000)} s`;
  const pill = element('span', hangs ? 'stuck' : state, `state ${hangs ? 'stuck' : state}`);
  const end = element('button', 'End job', 'quiet');
  end.name = 'end';
  end.value = id;
  const cells = [title, kind, pill, took, state === 'done' ? '' : end].map((content) => {
    const cell = document.createElement('td');
    cell.append(content);
    return cell;
  });
  const line = document.createElement('tr');
  line.dataset.job = id;
  line.append(...cells);
  return line;
}

function element(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}
