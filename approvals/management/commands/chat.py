"""`stalwart chat`: one turn in the terminal, through the same engine as everything else."""

import secrets
import sys
from argparse import ArgumentParser
from typing import Any

from approvals.services import Reply as Said
from approvals.services import answer
from runs import services, workers
from runs.access import Actor
from runs.agentfile import agent
from runs.agents import Reply
from runs.errors import TurnAmbiguous
from runs.following import AT_REST
from runs.models import Run, Step, Thread
from runs.services import ANSWERS
from stalwart_site.carrying import as_json, last_event, question_lines, questions_of
from stalwart_site.switches import SwitchedCommand, add_switches, faults_of
from stalwart_site.terminal import WAITS, find_person, usage

AT_THE_TERMINAL = frozenset({"support", "lead", "operator"})


class Command(SwitchedCommand):
    """Prints the reply, one line. Exit code 3 where it waits for a person: what it waits for is printed."""

    help = "Say one turn to an agent; it continues the user's latest conversation with that agent."
    database = False  # opened here, since it may bring the practice services up meanwhile

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("turn", help="what the user says")
        parser.add_argument("--agent", required=True, help="the agent")
        parser.add_argument("--user", required=True, help="who is talking to it")
        parser.add_argument(
            "--answer", choices=ANSWERS["confirm"], help="answer every confirmation like this, as it comes"
        )
        parser.add_argument("--as", dest="login", metavar="NAME", help="the login of who answers")
        add_switches(parser)

    def run(self, options: dict[str, Any]) -> int:
        with usage(self):
            faults = faults_of(options)
            if options["interrupt"] and options["answer"] != "approve":
                raise ValueError(
                    "--interrupt needs --answer approve: the process dies in a write that is approved"
                )
        spec = agent(options["agent"])
        self.machine.open_database(migrate=True, services=True)
        self._who = (
            find_person(options["login"]) if options["login"] else Actor(options["user"], AT_THE_TERMINAL)
        )
        request = services.RunRequest(text=options["turn"], faults=faults)
        try:
            run = self._start(spec.name, options["user"], request)
        except TurnAmbiguous as error:
            self._list_readings(error, options)
            raise
        if options["interrupt"]:
            return self._interrupted(run, options)
        reply = self._answer_all(run, options["answer"])
        if options["json"]:
            self.say_json(as_json(reply))
        elif reply.text:
            self.say(reply.text)
        else:
            for step in questions_of(reply):
                self._show(step, self.say)
        return WAITS if reply.waiting else 0

    def _interrupted(self, run: Run, options: dict[str, Any]) -> int:
        """Up to its first question, which is approved by the process that dies; then on as ever."""
        before = last_event(run)
        self.follow(run.pk)
        self.interrupt(run, self._who, "approve", options)
        return self.conclude(run, self._answer_all(run, options["answer"]), before, options)

    def _start(self, name: str, user: str, request: services.RunRequest) -> Run:
        """Start the turn in the user's latest conversation, or in a new one."""
        actor = Actor(name, frozenset(), "agent", agent=name)
        thread = Thread.objects.filter(agent=name, user=user).order_by("-created_at").first()
        if thread is None:
            services.take_turn(agent(name), request.text)  # a turn that is not read starts no conversation
            thread = services.start_thread(actor, name, user)
        self._finish_leftover(thread)
        return services.start(actor, thread, request)

    def _list_readings(self, error: TurnAmbiguous, options: dict[str, Any]) -> None:
        """What the turn could be; each line is a turn that reads in that way alone."""
        readings = error.extra["readings"]
        if options["json"]:
            self.say_json({"type": error.type, "detail": str(error), "readings": readings})
        else:
            for reading in readings:
                self.say(reading["text"])

    def _finish_leftover(self, thread: Thread) -> None:
        """Where no worker is alive, a run that a killed command left behind would block the conversation."""
        left = thread.runs.alive().exclude(state__in=AT_REST).first()
        if left and (self.machine.alone or not workers.alive()):
            self.stderr.write(f"{left.name} was left unfinished; it goes on first.")
            self.follow(left.pk)

    def _answer_all(self, run: Run, given: str | None) -> Reply:
        """Follow the run, and answer its confirmations; stops at a question that is not answered here."""
        reply = self.follow(run.pk)
        while reply.waiting and reply.waiting[0].kind == "confirm":
            [step, *_] = questions_of(reply)
            said = given or self._ask(step)
            if not said:
                break
            answer(self._who, step.pk, Said(said, step.digest, secrets.token_hex(16)))
            reply = self.follow(run.pk)
        return reply

    def _ask(self, step: Step) -> str:
        """Ask who sits at the terminal; '' where nobody does, or they leave it."""
        if not sys.stdin.isatty():
            return ""
        self._show(step, self.stderr.write)
        while True:
            self.stderr.write("approve, skip or cancel all? ", ending="")
            self.stderr.flush()
            said = sys.stdin.readline()
            word = said.strip().lower().replace(" ", "_").replace("-", "_")
            if not said or word in ANSWERS["confirm"]:
                return word

    def _show(self, step: Step, write: Any) -> None:
        for line in question_lines(step):
            write(line)
